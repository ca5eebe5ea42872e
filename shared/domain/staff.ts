import { config } from '../lib/config.ts';
import { perService } from '../lib/serviceScope.ts';
import { ServiceError } from '../spec/errors.ts';
import { Account } from '../tables/Account.ts';
import type { Caller } from './accounts.ts';

/** Who belongs to the staff, by e-mail address; addresses are kept in lower case. */
const staffEmails = perService(
  () =>
    new Set(
      config.STAFF_EMAILS.toLowerCase()
        .split(',')
        .map((email) => email.trim())
        .filter((email) => email !== ''),
    ),
);

/** Whether an account with this address is one of the staff's. */
export function isStaffEmail(email: string): boolean {
  return staffEmails().has(email);
}

/**
 * Lets only the staff's accounts through (spec: Authentication, API keys).
 * @throws ServiceError admin_required
 */
export async function requireStaff({ accountId }: Caller): Promise<void> {
  const account = await Account.query().findById(accountId).select('email');
  if (account !== undefined && isStaffEmail(account.email)) return;
  throw new ServiceError('admin_required', 'This is for the staff of the service. Sign in as one of them.');
}
