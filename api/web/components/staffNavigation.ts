import type { StaffPermission } from '../../../shared/spec/staff.ts';

/** Pages of the staff console in the order of their navigation, with the permission that each requires. */
export const STAFF_PAGES = [
  ['/admin/', 'Dashboard', 'viewDashboard'],
  ['/admin/accounts/', 'Accounts', 'viewAccounts'],
  ['/admin/reports/', 'Reports', 'viewReports'],
  ['/admin/queues', 'Queues', 'manageQueues'],
  ['/admin/audit/', 'Audit log', 'viewAuditLog'],
] as const satisfies readonly (readonly [path: string, label: string, permission: StaffPermission])[];

export type StaffPagePath = (typeof STAFF_PAGES)[number][0];
