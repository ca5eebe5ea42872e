import type { ComponentChildren } from 'preact';
import { hasRight, type MemberRight, type MemberRole } from '../../shared/spec/roles.ts';
import type { StaffPermission } from '../../shared/spec/staff.ts';
import type { Account } from '../../shared/tables/Account.ts';
import type { Lazy } from '../lazy.ts';
import type { IconName } from './components/icon.tsx';

/** Link to a page in the navigation of the account area, or of the staff console for staff with a permission. */
export type NavigationEntry = {
  label: Lazy<string>;
  icon: IconName;
  order: number;
  /** Heading above entries that follow each other. */
  group?: Lazy<string>;
} & ({ path: `/account/${string}`; needs: MemberRight } | { path: `/admin/${string}`; permission: StaffPermission });
export type AccountEntry = Extract<NavigationEntry, { path: `/account/${string}` }>;
export type StaffEntry = Extract<NavigationEntry, { permission: StaffPermission }>;

/** Trouble that every page of the account area shows, with the one thing to do about it. */
export interface AreaNotice {
  kind: 'bad' | 'warn';
  text: ComponentChildren;
  action: { label: string; href: string };
}

/** Finds trouble of an account, for members who can do something about it. */
export interface NoticeSource {
  needs: MemberRight;
  find: (account: Account) => Promise<AreaNotice | null>;
}

interface AreaParts {
  navigation?: readonly NavigationEntry[];
  notices?: readonly NoticeSource[];
}

let navigation: readonly NavigationEntry[] = [];
let notices: readonly NoticeSource[] = [];

/** Sets what all features add to every page. The pages cannot import them, since the features consist of pages. */
export function setAreaParts(features: readonly AreaParts[]): void {
  navigation = features.flatMap((feature) => feature.navigation ?? []).toSorted((a, b) => a.order - b.order);
  notices = features.flatMap((feature) => feature.notices ?? []);
}

/** Lists the pages of the account area that a role may open, in the order of its navigation. */
export function listAccountEntries(role: MemberRole): AccountEntry[] {
  return navigation.filter((entry) => !('permission' in entry) && hasRight(role, entry.needs)) as AccountEntry[];
}

/** Lists the pages of the staff console in the order of its navigation. */
export function listStaffEntries(): StaffEntry[] {
  return navigation.filter((entry) => 'permission' in entry);
}

/** Lists what a member with a role should know on every page. */
export async function listNotices(account: Account, role: MemberRole): Promise<AreaNotice[]> {
  const sources = notices.filter(({ needs }) => hasRight(role, needs));
  const found = await Promise.all(sources.map(({ find }) => find(account)));
  return found.filter((notice) => notice !== null);
}
