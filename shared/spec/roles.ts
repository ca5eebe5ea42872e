/** Roles of the members of an account. Exactly one is the owner. */
export const MEMBER_ROLES = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Roles that a member is invited with and changed to. The owner hands the account over instead. */
export const ASSIGNABLE_ROLES = ['admin', 'developer', 'billing', 'viewer'] as const satisfies readonly MemberRole[];
export type AssignableRole = (typeof ASSIGNABLE_ROLES)[number];

/**
 * Roles that hold each right. Every route that acts on an account names the right that it requires, and every MCP tool.
 * A key or an application has the rights of the member who made it.
 */
export const MEMBER_RIGHTS = {
  /** Profile, sign-in methods, sessions, of the member alone, and switching and leaving accounts. */
  actForOneself: ['owner', 'admin', 'developer', 'billing', 'viewer'],
  /** Overview, usage, credit history, prices and the state of the plan. */
  viewUsage: ['owner', 'admin', 'developer', 'billing', 'viewer'],
  /** Generations with their prompts and outputs. */
  viewGenerations: ['owner', 'admin', 'developer', 'viewer'],
  /** Create, cancel and delete generations, and upload images for them. The charge decides by it under the lock. */
  createGenerations: ['owner', 'admin', 'developer'],
  /** API keys and connected applications of the account. */
  manageKeys: ['owner', 'admin', 'developer'],
  manageWebhooks: ['owner', 'admin', 'developer'],
  /** Plan, payments, top-ups, invoices and gift codes. */
  manageBilling: ['owner', 'admin', 'billing'],
  /** Which messages the account receives. */
  manageNotifications: ['owner', 'admin', 'billing'],
  manageAffiliate: ['owner', 'admin'],
  viewMembers: ['owner', 'admin', 'developer', 'billing', 'viewer'],
  manageMembers: ['owner', 'admin'],
  viewSecurityLog: ['owner', 'admin'],
  /** Receive payouts, download and delete the account, and hand it over. */
  own: ['owner'],
} as const satisfies Record<string, readonly MemberRole[]>;

export type MemberRight = keyof typeof MEMBER_RIGHTS;

/** Returns whether a role holds a right. */
export function hasRight(role: MemberRole, right: MemberRight): boolean {
  return (MEMBER_RIGHTS[right] as readonly MemberRole[]).includes(role);
}

/** Returns whether a role holds all rights of another one. */
export function includesRights(role: MemberRole, other: MemberRole): boolean {
  const rights = Object.keys(MEMBER_RIGHTS) as MemberRight[];
  return rights.every((right) => hasRight(role, right) || !hasRight(other, right));
}
