import type { StaffPermission } from '../../shared/spec/staff.ts';

/** Link to a page in the navigation of the account area, or of the staff console for staff with a permission. */
export type NavigationEntry = { label: string; order: number } & (
  | { path: `/account/${string}` }
  | { path: `/admin/${string}`; permission: StaffPermission }
);
export type AccountEntry = Extract<NavigationEntry, { path: `/account/${string}` }>;
export type StaffEntry = Extract<NavigationEntry, { permission: StaffPermission }>;

let navigation: readonly NavigationEntry[] = [];

/** Sets the navigation. It lists pages of all features, which therefore cannot import it. */
export function setNavigation(entries: readonly NavigationEntry[]): void {
  navigation = entries.toSorted((a, b) => a.order - b.order);
}

/** Lists the pages of the account area in the order of its navigation. */
export function listAccountEntries(): AccountEntry[] {
  return navigation.filter((entry) => !('permission' in entry)) as AccountEntry[];
}

/** Lists the pages of the staff console in the order of its navigation. */
export function listStaffEntries(): StaffEntry[] {
  return navigation.filter((entry) => 'permission' in entry);
}
