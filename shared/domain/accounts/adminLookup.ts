import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { hashApiKey } from './apiKeys.ts';

/** How the staff finds what a customer writes about. */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The account that an e-mail address, a uuid, or the number in our logs is of.
 * @throws ServiceError not_found
 */
export async function lookUpAccountForStaff(query: string): Promise<Account> {
  const name = query.trim();
  const found = /^\d{1,15}$/.test(name)
    ? await Account.query().findById(Number(name))
    : await Account.query().findOne(UUID.test(name) ? { uuid: name.toLowerCase() } : { email: name.toLowerCase() });
  if (found !== undefined) return found;
  throw new ServiceError('not_found', `There is no account ${name}: name it by its e-mail address, uuid or number.`);
}

/**
 * The keys that a uuid, the first characters of a key (12 are shown everywhere), or the whole of it can mean.
 * @throws ServiceError not_found
 */
export async function lookUpApiKeysForStaff(query: string): Promise<ApiKey[]> {
  const name = query.trim();
  const hash = hashApiKey(name);
  const found =
    hash === null
      ? await ApiKey.query().where(UUID.test(name) ? { uuid: name.toLowerCase() } : { prefix: name })
      : await ApiKey.query().where({ key_hash: hash });
  if (found.length > 0) return found;
  // What was typed may be a key with a slip in it, and is not repeated.
  throw new ServiceError(
    'not_found',
    'There is no such key: name it by its uuid, its first 12 characters or all of it.',
  );
}

/** What staff should know of an account's payments: refunds that are not carried out, and upgrades that were refunded. */
export async function listPaymentIssues({ id }: Account): Promise<string[]> {
  const [refunds, subscriptions] = await Promise.all([
    OwedRefund.query().where({ account_id: id }).whereNot({ status: 'refunded' }).orderBy('created_at'),
    Subscription.query().where({ account_id: id }).whereNotNull('refunded_upgrade').orderBy('id'),
  ]);
  return [
    ...refunds.map(({ invoice_id: invoice, status, problem }) =>
      `refund ${invoice}: ${status}. ${problem ?? ''}`.trim(),
    ),
    ...subscriptions.map(
      ({ refunded_upgrade: plan, stripe_subscription_id: subscription, plan_slug: current }) =>
        `subscription ${subscription}: the upgrade to ${plan} was refunded; the plan is ${current}.`,
    ),
  ];
}

/** The last entries of an account's ledger, newest first. */
export async function listLastLedgerEntries(account: Account, count: number): Promise<LedgerEntry[]> {
  return LedgerEntry.query()
    .where({ account_id: account.id })
    .where('number', '>', account.ledger_count - count)
    .orderBy('number', 'desc');
}
