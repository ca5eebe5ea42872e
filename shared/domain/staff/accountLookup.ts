import { listBriefly } from '../../lib/listBriefly.ts';
import { isUuid } from '../../lib/uuid.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Generation } from '../../tables/Generation.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { Member } from '../../tables/Member.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { Person } from '../../tables/Person.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { hashApiKey } from '../accounts/credentials.ts';
import { findLiveAccount } from '../accounts/testAccounts.ts';
import { IS_OPEN_REFUND } from '../billing/owedRefunds.ts';

/** Lookups for staff, who search by what a customer has quoted. */

/**
 * Finds the account of an e-mail address, a UUID, or the account number in the logs, which may be that of its test
 * account.
 * @throws ServiceError not_found; as {@link pickSingleAccount}.
 */
export async function lookUpAccountForStaff(query: string): Promise<Account> {
  const name = query.trim().toLowerCase();
  const matches = /^\d{1,15}$/.test(name)
    ? await Account.query().findByIds([Number(name)])
    : await Account.query()
        .where(isUuid(name) ? { uuid: name } : { email: name })
        .orderBy('id');
  const found = pickSingleAccount(matches);
  if (found !== undefined) return findLiveAccount(found);
  throw new ServiceError('not_found', `No account matches ${name}. Use its e-mail address, UUID or number.`);
}

/**
 * Returns the account that staff named by the address of its owner; undefined if there is none.
 * @throws ServiceError validation_error if the owner has several accounts, with their UUIDs.
 */
export function pickSingleAccount(matches: readonly Account[]): Account | undefined {
  if (matches.length < 2) return matches[0];
  const uuids = listBriefly(matches.map(({ uuid }) => uuid));
  throw new ServiceError(
    'validation_error',
    `${matches.length} accounts have this address. Use one of their UUIDs: ${uuids}.`,
  );
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

/** Largest number of accounts that a search returns. */
export const SEARCH_RESULTS_MAX = 20;
const EMAIL_PREFIX_MIN_CHARACTERS = 3;
/** Sorts after every character of an address, by bytes. */
const LAST_CHARACTER = '\u{10ffff}';

/**
 * Searches accounts by what a customer or a processor quotes: the e-mail address of a member or its beginning; the UUID
 * of an account, API key, generation, top-up or invoice; the account number in the logs; the first 12 characters of an
 * API key; a Stripe id of a customer, subscription, payment, checkout page or invoice. Each is a lookup in an index.
 * @throws ServiceError validation_error for a whole API key, which must not get into addresses and logs.
 */
export async function searchAccounts(query: string): Promise<Account[]> {
  // The database accepts no other characters.
  const text = query.replaceAll('\u0000', '').toWellFormed().trim();
  if (hashApiKey(text) !== null)
    throw new ServiceError('validation_error', 'Search by the first 12 characters of the API key, not by all of it.');
  if (isUuid(text)) return findAccountsByUuid(text.toLowerCase());
  if (/^\d{1,15}$/.test(text)) return findAccountsByIds([Number(text)]);
  if (/^svc_[0-9a-f]{8}$/.test(text))
    return findAccountsByIds(
      await pluckAccountIds(ApiKey.query().select('account_id').where({ prefix: text }).limit(SEARCH_RESULTS_MAX)),
    );
  if (/^(cus|sub|pi|cs|in|simulated)_[\w-]+$/.test(text)) return findAccountsByProcessorId(text);
  if (text.length < EMAIL_PREFIX_MIN_CHARACTERS) return [];
  return findAccountsByAddress(text.toLowerCase());
}

/** Finds the accounts whose owner, or another member, has an address with this beginning. */
async function findAccountsByAddress(prefix: string): Promise<Account[]> {
  // By bytes, so that the index is used in every collation.
  const hasPrefix = ['email ~>=~ ? AND email ~<~ ?', [prefix, prefix + LAST_CHARACTER]] as const;
  const people = await Person.query()
    .whereRaw(...hasPrefix)
    .select('id')
    .orderBy('email')
    .limit(SEARCH_RESULTS_MAX);
  const joined = Member.query().whereNull('removed_at').select('account_id').limit(SEARCH_RESULTS_MAX);
  const [owned, ids] = await Promise.all([
    Account.query()
      .whereRaw(...hasPrefix)
      .whereNull('live_account_id')
      .orderBy('email')
      .limit(SEARCH_RESULTS_MAX),
    pluckAccountIds(
      joined.whereIn(
        'person_id',
        people.map(({ id }) => id),
      ),
    ),
  ]);
  const shown = new Set(owned.map(({ id }) => id));
  return [...owned, ...(await findAccountsByIds(ids.filter((id) => !shown.has(id))))].slice(0, SEARCH_RESULTS_MAX);
}

async function findAccountsByUuid(uuid: string): Promise<Account[]> {
  const [account, ...ids] = await Promise.all([
    Account.query().findOne({ uuid }),
    pluckAccountIds(ApiKey.query().select('account_id').where({ uuid }).limit(SEARCH_RESULTS_MAX)),
    pluckAccountIds(Generation.query().select('account_id').where({ uuid }).limit(SEARCH_RESULTS_MAX)),
    pluckAccountIds(Topup.query().select('account_id').where({ uuid }).limit(SEARCH_RESULTS_MAX)),
    pluckAccountIds(Invoice.query().select('account_id').where({ uuid })),
  ]);
  return account === undefined ? findAccountsByIds(ids.flat()) : [await findLiveAccount(account)];
}

async function findAccountsByProcessorId(id: string): Promise<Account[]> {
  const [account, ...ids] = await Promise.all([
    Account.query().findOne({ stripe_customer_id: id }),
    pluckAccountIds(
      Subscription.query().select('account_id').where({ stripe_subscription_id: id }).limit(SEARCH_RESULTS_MAX),
    ),
    pluckAccountIds(
      Topup.query().select('account_id').where({ stripe_payment_intent_id: id }).limit(SEARCH_RESULTS_MAX),
    ),
    pluckAccountIds(Topup.query().select('account_id').where({ stripe_session_id: id }).limit(SEARCH_RESULTS_MAX)),
    pluckAccountIds(Invoice.query().select('account_id').where({ stripe_invoice_id: id })),
    pluckAccountIds(OwedRefund.query().select('account_id').where({ key: id })),
  ]);
  return account === undefined ? findAccountsByIds(ids.flat()) : [account];
}

async function pluckAccountIds(rows: PromiseLike<readonly { account_id: number }[]>): Promise<number[]> {
  return (await rows).map(({ account_id: id }) => id);
}

/** Finds accounts; for a test account, the one that it belongs to. */
async function findAccountsByIds(ids: number[]): Promise<Account[]> {
  if (ids.length === 0) return [];
  const named = await Account.query().findByIds([...new Set(ids)]);
  return Account.query()
    .findByIds([...new Set(named.map(({ id, live_account_id: liveId }) => liveId ?? id))])
    .orderBy('email');
}

/** Lists payment issues of an account: open refunds, and upgrades that were refunded. */
export async function listPaymentIssues({ id }: Account): Promise<string[]> {
  const [refunds, subscriptions] = await Promise.all([
    OwedRefund.query().where({ account_id: id }).whereRaw(IS_OPEN_REFUND).orderBy('created_at'),
    Subscription.query().where({ account_id: id }).whereNotNull('refunded_upgrade').orderBy('id'),
  ]);
  return [
    ...refunds.map(({ payment, status, last_error: lastError }) =>
      `refund of ${payment}: ${status}. ${lastError ?? ''}`.trim(),
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
