/** Roles of staff accounts, which `STAFF_EMAILS` assigns. An address without a role has the role `admin`. */
export const STAFF_ROLES = ['support', 'finance', 'ops', 'admin'] as const;
export type StaffRole = (typeof STAFF_ROLES)[number];

/** Roles that hold each permission. Every route for staff names the permission that it requires. */
export const STAFF_PERMISSIONS = {
  /** Figures of the whole service on `/admin/` and `GET /api/admin/metrics/`. */
  viewDashboard: ['support', 'finance', 'ops', 'admin'],
  /** Accounts with their ledger, payments and credentials, without prompts and outputs. */
  viewAccounts: ['support', 'finance', 'ops', 'admin'],
  /** Prompts and outputs of a customer, for a reason that is recorded. */
  viewContent: ['support', 'admin'],
  viewReports: ['finance', 'ops', 'admin'],
  viewAuditLog: ['ops', 'admin'],
  adjustCredits: ['finance', 'admin'],
  refundGenerations: ['support', 'finance', 'admin'],
  refundTopups: ['finance', 'admin'],
  suspendAccounts: ['ops', 'admin'],
  /** Sign an account out everywhere, revoke its API keys and applications, and remove members. */
  revokeAccess: ['support', 'ops', 'admin'],
  /** Requeue stuck generations, run tasks again, and change jobs on the queue board. */
  manageQueues: ['ops', 'admin'],
  /** Show requests to upstreams, and send some that no account pays for. */
  tryUpstreams: ['ops', 'admin'],
} as const satisfies Record<string, readonly StaffRole[]>;

export type StaffPermission = keyof typeof STAFF_PERMISSIONS;

/** Returns whether a role holds a permission. */
export function hasPermission(role: StaffRole, permission: StaffPermission): boolean {
  return (STAFF_PERMISSIONS[permission] as readonly StaffRole[]).includes(role);
}

/** Longest reason that staff give for an action. */
export const STAFF_REASON_MAX_CHARACTERS = 500;

/** Seconds without activity after which a queued generation counts as stuck. */
export const STUCK_AFTER_SECONDS = 120;

/**
 * Figures of an action that gives something back: the field of the entry with the amount, its unit, and its daily
 * limit.
 */
const CREDITS = { field: 'credits', unit: 'credits', setting: 'STAFF_DAILY_CREDITS' } as const;
const REFUNDED_CENTS = { field: 'refundNetCents', unit: 'cents', setting: 'STAFF_DAILY_REFUND_CENTS' } as const;
export type AuditedAmount = typeof CREDITS | typeof REFUNDED_CENTS;

/** Actions in the audit log: what the target is, and what the action gives back. */
export const AUDIT_ACTIONS = {
  'account.suspend': { target: 'account' },
  'account.reinstate': { target: 'account' },
  'account.sign_out': { target: 'account' },
  'account.revoke_access': { target: 'account' },
  'account.export': { target: 'account' },
  'account.erase': { target: 'account' },
  'credits.adjust': { target: 'account', amount: CREDITS },
  'credits.request': { target: 'account' },
  'credits.approve': { target: 'account' },
  'credits.reject': { target: 'account' },
  'generation.refund': { target: 'generation', amount: CREDITS },
  'generation.requeue': { target: 'generation' },
  'generation.view_content': { target: 'generation' },
  'giftCode.create': { target: 'giftCode', amount: CREDITS },
  'giftCode.revoke': { target: 'giftCode' },
  'identity.remove': { target: 'account' },
  'key.revoke': { target: 'key' },
  'member.remove': { target: 'member' },
  'queue.change': { target: 'queue' },
  'refund.close': { target: 'refund' },
  'task.run': { target: 'task' },
  'task.run_kind': { target: 'taskKind' },
  'upstream.try': { target: 'upstream' },
  'topup.refund': { target: 'topup', amount: REFUNDED_CENTS },
} as const satisfies Record<string, { target: string; amount?: AuditedAmount }>;
export type AuditAction = keyof typeof AUDIT_ACTIONS;
