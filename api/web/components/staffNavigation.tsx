import type { VNode } from 'preact';
import { hasPermission, type StaffRole } from '../../../shared/spec/staff.ts';
import { listStaffEntries, type StaffEntry } from '../navigation.ts';

export type StaffPagePath = StaffEntry['path'];

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
        {listStaffEntries()
          .filter(({ permission }) => hasPermission(role, permission))
          .map(({ path, label }) => (
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
