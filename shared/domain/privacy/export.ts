import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { SecurityEvent } from '../../tables/SecurityEvent.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { findOwner } from '../accounts/people.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { EXPORT_BATCH_SIZE, type ExportList, type ExportRow } from '../exportList.ts';
import { EXPORT_LISTS } from '../features.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { findTestAccountId } from '../accounts/testAccounts.ts';

/** Columns of the account. All others stay out: internal states and figures, and columns that are added later. */
const ACCOUNT_COLUMNS = [
  'uuid',
  'email',
  'first_name',
  'language',
  'use_case',
  'social_provider',
  'onboarding_step',
  'is_affiliate',
  'created_at',
  'erased_at',
  'suspended_at',
  'deletion_requested_at',
  'plan_slug',
  'spendable_until',
  'parallel_limit',
  'balance',
  'plan_credits',
  'topup_credits',
  'period_index',
  'period_start',
  'period_end',
  'period_granted',
  'period_rollover',
  'period_used',
  'stripe_customer_id',
  'has_payment_method',
  'auto_topup_enabled',
  'auto_topup_amount_cents',
  'auto_topup_threshold_credits',
  'auto_topup_problem',
  'in_flight',
  'generation_count',
  'generations_deleted',
  'ledger_count',
  'member_count',
  'key_count',
  'active_key_count',
  'spending_limit_count',
  'webhook_count',
  'credits_low_threshold',
  'credits_low_since',
  'email_settings',
] as const;

/** An account whose data is read, and its owner when the download began; null once it is erased. */
interface ExportedAccount {
  account: Account;
  ownerId: number | null;
}

async function readExportedAccount(transaction: Transaction, account: Account): Promise<ExportedAccount> {
  return { account, ownerId: (await findOwner(account.id, transaction))?.id ?? null };
}

/**
 * Writes what is stored about the owner of an account as JSON: the account, then one list for each kind of data, then
 * the same for test mode. Rows are read some at a time, so that the size of the account does not matter.
 */
async function* exportAccount({ account, ownerId }: ExportedAccount): AsyncGenerator<string> {
  yield `{\n"account": ${JSON.stringify(pickAccountColumns(account.toJSON()))}`;
  yield* exportLists('live', { account: account.id, owner: ownerId }, '');
  const testAccountId = await findTestAccountId(account.id);
  if (testAccountId !== null) yield* exportLists('test', { account: testAccountId, owner: null }, 'test_');
  yield '\n}\n';
}

async function* exportLists(
  mode: 'live' | 'test',
  ids: { account: number; owner: number | null },
  prefix: string,
): AsyncGenerator<string> {
  for (const list of EXPORT_LISTS.filter((one) => [mode, 'both'].includes(one.mode ?? 'live'))) {
    yield `,\n"${prefix}${list.name}": [`;
    let count = 0;
    for await (const rows of readInBatches(list, ids[list.of ?? 'account'])) {
      yield rows.map((row, index) => `${count + index === 0 ? '' : ','}\n${JSON.stringify(row)}`).join('');
      count += rows.length;
    }
    yield '\n]';
  }
}

async function* readInBatches({ select, present = (row) => row }: ExportList, id: number | null) {
  if (id === null) return;
  for (let after: unknown = null; ; ) {
    const rows = (await select(id, after)) as ExportRow[];
    yield rows.map((row) => present(dropPosition(row)));
    if (rows.length < EXPORT_BATCH_SIZE) return;
    after = rows.at(-1)?.['export_position'];
  }
}

function dropPosition(row: ExportRow): ExportRow {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'export_position'));
}

function pickAccountColumns(account: ExportRow): ExportRow {
  return Object.fromEntries(ACCOUNT_COLUMNS.map((name) => [name, account[name]]));
}

/** Exports of an account within an hour. Each reads all of its rows. */
const EXPORTS_PER_HOUR = 5;

/**
 * Starts an export by the owner of an account, and records it in the security log.
 * @throws ServiceError rate_limited after some exports within an hour; insufficient_scope or invalid_api_key if the
 *   caller's role or session changed meanwhile.
 */
export async function startAccountExport(caller: Caller, origin: RequestOrigin): Promise<AsyncGenerator<string>> {
  const { accountId } = caller;
  const exported = await withAccountOfCaller(caller, async (transaction, locked) => {
    const recent = await SecurityEvent.query(transaction)
      .where({ account_id: accountId, event: 'data_exported' })
      .where('created_at', '>', addMilliseconds(now(), -HOUR_MS))
      .orderBy('created_at', 'desc')
      .limit(EXPORTS_PER_HOUR);
    const oldest = recent[EXPORTS_PER_HOUR - 1];
    if (oldest !== undefined) {
      const seconds = Math.ceil((oldest.created_at.getTime() + HOUR_MS - now().getTime()) / 1_000);
      throw new ServiceError(
        'rate_limited',
        `Your data was downloaded ${EXPORTS_PER_HOUR} times within an hour. Try again in ${Math.ceil(seconds / 60)} minutes.`,
        { retryAfterSeconds: seconds },
      );
    }
    await recordSecurityEvent(transaction, { accountId, event: 'data_exported', origin });
    return readExportedAccount(transaction, locked);
  });
  return exportAccount(exported);
}

/** Records that staff export the data of an account, and returns it once the record is committed. */
export async function exportAccountByStaff(account: Account, actor: Actor): Promise<AsyncGenerator<string>> {
  const exported = await Account.transaction(async (transaction) => {
    await recordAuditEntry(transaction, actor, {
      action: 'account.export',
      accountId: account.id,
      targetId: account.uuid,
    });
    return readExportedAccount(transaction, account);
  });
  return exportAccount(exported);
}
