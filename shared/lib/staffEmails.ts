import type { StaffRole } from '../spec/staff.ts';
import { config } from './config.ts';

/**
 * Returns the role of an address on the staff list, or undefined. Addresses of accounts are in lower case. Entries are
 * `address` or `address:role`; the first one of an address counts.
 */
export function getStaffRole(email: string): StaffRole | undefined {
  if (email === '') return undefined;
  for (const entry of config.STAFF_EMAILS.toLowerCase().split(',')) {
    const [address, role = 'admin'] = entry.trim().split(':');
    if (address === email) return role as StaffRole;
  }
  return undefined;
}

/** Returns whether an address is on the staff list. */
export function isStaffEmail(email: string): boolean {
  return getStaffRole(email) !== undefined;
}
