import type { VNode } from 'preact';
import { hasPermission, type StaffPermission, type StaffRole } from '../../../shared/spec/staff.ts';

/** Pages of the staff console in the order of their navigation, with the permission that each requires. */
const STAFF_PAGES = [
  ['/admin/', 'Dashboard', 'viewDashboard'],
  ['/admin/accounts/', 'Accounts', 'viewAccounts'],
  ['/admin/reports/', 'Reports', 'viewReports'],
  ['/admin/queues', 'Queues', 'manageQueues'],
  ['/admin/audit/', 'Audit log', 'viewAuditLog'],
] as const satisfies readonly (readonly [path: string, label: string, permission: StaffPermission])[];

export type StaffPagePath = (typeof STAFF_PAGES)[number][0];

export interface StaffNavigationProps {
  current: StaffPagePath;
  /** Address of the staff member. */
  email: string;
  role: StaffRole;
  /** From `createCsrfToken(ctx)`. */
  csrfToken: string;
}

/** Links to the pages of the staff console that the role may open, and who is signed in. */
export function StaffNavigation({ current, email, role }: StaffNavigationProps): VNode {
  return (
    <nav class="tabs wide" aria-label="Staff">
      <ul>
        {STAFF_PAGES.filter(([, , permission]) => hasPermission(role, permission)).map(([path, label]) => (
          <li>
            <a href={path} aria-current={path === current ? 'page' : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
      <p class="quiet small">
        Signed in as {email}, role {role}
      </p>
    </nav>
  );
}
