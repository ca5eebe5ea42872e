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
  /** Sign an account out everywhere, and revoke its API keys and applications. */
  revokeAccess: ['support', 'ops', 'admin'],
  /** Requeue stuck generations, and change jobs on the queue board. */
  manageQueues: ['ops', 'admin'],
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

/** Actions in the audit log: the kind of target, and what was done to it. */
export const AUDIT_ACTIONS = [
  'account.suspend',
  'account.reinstate',
  'account.sign_out',
  'account.revoke_access',
  'account.export',
  'account.erase',
  'credits.adjust',
  'credits.request',
  'credits.approve',
  'credits.reject',
  'generation.refund',
  'generation.requeue',
  'generation.view_content',
  'identity.remove',
  'key.revoke',
  'queue.change',
  'topup.refund',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];
