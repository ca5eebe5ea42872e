import { isUuid } from '../../lib/uuid.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { hashApiKey } from './apiKeys.ts';

/** Lookups for staff, who search by what a customer has quoted. */

/**
 * Finds the account of an e-mail address, a UUID, or the account number in the logs.
 * @throws ServiceError not_found
 */
export async function lookUpAccountForStaff(query: string): Promise<Account> {
  const name = query.trim();
  const found = /^\d{1,15}$/.test(name)
    ? await Account.query().findById(Number(name))
    : await Account.query().findOne(isUuid(name) ? { uuid: name.toLowerCase() } : { email: name.toLowerCase() });
  if (found !== undefined) return found;
  throw new ServiceError('not_found', `No account matches ${name}. Use its e-mail address, UUID or number.`);
}

/**
 * Finds API keys by UUID, by their first 12 characters (the prefix that is displayed), or by the whole key.
 * @throws ServiceError not_found
 */
export async function lookUpApiKeysForStaff(query: string): Promise<ApiKey[]> {
  const name = query.trim();
  const hash = hashApiKey(name);
  const found =
    hash === null
      ? await ApiKey.query().where(isUuid(name) ? { uuid: name.toLowerCase() } : { prefix: name })
      : await ApiKey.query().where({ key_hash: hash });
  if (found.length > 0) return found;
  // The message does not repeat the input, which may be a mistyped key.
  throw new ServiceError('not_found', 'No API key matches. Use its UUID, its first 12 characters or the whole key.');
}

/** Lists payment issues of an account: refunds that are not completed, and upgrades that were refunded. */
export async function listPaymentIssues({ id }: Account): Promise<string[]> {
  const [refunds, subscriptions] = await Promise.all([
    OwedRefund.query().where({ account_id: id }).whereNot({ status: 'refunded' }).orderBy('created_at'),
    Subscription.query().where({ account_id: id }).whereNotNull('refunded_upgrade').orderBy('id'),
  ]);
  return [
    ...refunds.map(({ invoice_id: invoice, status, last_error: lastError }) =>
      `refund ${invoice}: ${status}. ${lastError ?? ''}`.trim(),
    ),
    ...subscriptions.map(
      ({ refunded_upgrade: plan, stripe_subscription_id: subscription, plan_slug: current }) =>
        `subscription ${subscription}: the upgrade to ${plan} was refunded; the plan is ${current}.`,
    ),
  ];
}

/** Lists the last entries of the ledger of an account, newest first. */
export async function listLastLedgerEntries(account: Account, count: number): Promise<LedgerEntry[]> {
  return LedgerEntry.query()
    .where({ account_id: account.id })
    .where('number', '>', account.ledger_count - count)
    .orderBy('number', 'desc');
}
