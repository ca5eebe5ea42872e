import type { Knex } from 'knex';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { db } from '../../lib/database/pool.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { SecurityEvent } from '../../tables/SecurityEvent.ts';
import { lockAccount } from '../credits/ledger.ts';
import { COLUMNS, type TableName } from './exportColumns.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { findTestAccountId } from '../accounts/testAccounts.ts';

type Row = Record<string, unknown>;

interface ExportedList {
  name: string;
  /** Selects the rows of an account, from a position on that `export_position` returns. */
  select: (accountId: number, after: unknown) => Knex.QueryBuilder;
  present?: (row: Row) => Row;
}

/** Rows of one query. */
const BATCH_SIZE = 500;

/** Lists the rows of a table in the order of a column that is unique within the account. */
function listTable(name: TableName, position: string, owner = 'account_id'): ExportedList {
  return {
    name,
    select: (accountId, after) =>
      db(name)
        .select(...qualifyColumns(name), { export_position: `${name}.${position}` })
        .where(`${name}.${owner}`, accountId)
        .modify((query) => void (after !== null && query.where(`${name}.${position}`, '>', after as string)))
        .orderBy(`${name}.${position}`)
        .limit(BATCH_SIZE),
  };
}

function qualifyColumns(name: TableName): string[] {
  return COLUMNS[name].map((column) => `${name}.${column}`);
}

/** Lists applications with their names. */
const GRANTS = listTable('oauth_grants', 'uuid');
const APPLICATIONS: ExportedList = {
  name: 'applications',
  select: (accountId, after) =>
    GRANTS.select(accountId, after)
      .join('oauth_clients', 'oauth_clients.client_id', 'oauth_grants.client_id')
      .select({ application: 'oauth_clients.name' }),
};

function presentGenerationFiles({ output_path: outputPath, thumbnail_path: thumbnailPath, ...row }: Row): Row {
  const toUrl = (path: unknown) =>
    typeof path === 'string' && row['deleted_at'] === null ? `${config.CDN_URL}/${path}` : null;
  return { ...row, output_url: toUrl(outputPath), thumbnail_url: toUrl(thumbnailPath) };
}

/**
 * Lists generations, with links to their files until they are deleted. They are found through their ledger entries, as
 * no index contains those that were deleted.
 */
const GENERATIONS: ExportedList = {
  name: 'generations',
  select: (accountId, after) =>
    db('ledger_entries')
      .join('generations', (join) => {
        join.on('generations.uuid', 'ledger_entries.generation_uuid');
        join.on('generations.account_id', 'ledger_entries.account_id');
      })
      .select(...qualifyColumns('generations'), 'generations.output_path', 'generations.thumbnail_path', {
        export_position: 'ledger_entries.number',
      })
      .where({ 'ledger_entries.account_id': accountId, 'ledger_entries.entry_type': 'burn' })
      .modify((query) => void (after !== null && query.where('ledger_entries.number', '>', after as number)))
      .orderBy('ledger_entries.number')
      .limit(BATCH_SIZE),
  present: presentGenerationFiles,
};

/** Lists the generations of a test account that were not deleted. They have no ledger entries. */
const TEST_GENERATIONS: ExportedList = {
  name: 'generations',
  select: (accountId, after) =>
    db('generations')
      .select(...COLUMNS.generations, 'output_path', 'thumbnail_path', { export_position: 'number' })
      .where({ account_id: accountId, deleted_at: null })
      .modify((query) => void (after !== null && query.where('number', '>', after as number)))
      .orderBy('number')
      .limit(BATCH_SIZE),
  present: presentGenerationFiles,
};

/** Lists the images that generations took as input. */
const GENERATION_INPUTS: ExportedList = {
  name: 'generation_inputs',
  select: (accountId, after) => {
    const position = db.raw(`generation_uuid || ' ' || role || ' ' || lpad(cast(position AS text), 5, '0')`);
    return db('generation_inputs')
      .select(...COLUMNS.generation_inputs, { export_position: position })
      .where({ account_id: accountId })
      .modify((query) => void (after !== null && query.where(position, '>', after as string)))
      .orderBy(position as unknown as string)
      .limit(BATCH_SIZE);
  },
};

/** Lists deliveries with their endpoints and the bodies that were sent. */
const WEBHOOK_DELIVERIES: ExportedList = {
  name: 'webhook_deliveries',
  select: (accountId, after) =>
    db('webhook_deliveries')
      .join('webhook_endpoints', 'webhook_endpoints.id', 'webhook_deliveries.endpoint_id')
      .join('outbox_events', 'outbox_events.id', 'webhook_deliveries.event_id')
      .select(...qualifyColumns('webhook_deliveries'), {
        endpoint: 'webhook_endpoints.uuid',
        type: 'outbox_events.type',
        body: 'outbox_events.body',
        export_position: 'webhook_deliveries.id',
      })
      .where('webhook_endpoints.account_id', accountId)
      .modify((query) => void (after !== null && query.where('webhook_deliveries.id', '>', after as number)))
      .orderBy('webhook_deliveries.id')
      .limit(BATCH_SIZE),
};

const EXPORTED_LISTS: readonly ExportedList[] = [
  listTable('identities', 'uuid'),
  listTable('sessions', 'uuid'),
  listTable('api_keys', 'number'),
  listTable('spending_limits', 'number'),
  APPLICATIONS,
  listTable('security_events', 'id'),
  GENERATIONS,
  listTable('uploads', 'uuid'),
  GENERATION_INPUTS,
  listTable('ledger_entries', 'number'),
  listTable('subscriptions', 'id'),
  listTable('topups', 'uuid'),
  listTable('topup_refunds', 'topup_uuid'),
  listTable('owed_refunds', 'invoice_id'),
  listTable('invoices', 'uuid'),
  listTable('referrals', 'account_id'),
  listTable('affiliates', 'account_id'),
  listTable('commissions', 'id', 'affiliate_id'),
  listTable('payouts', 'uuid', 'affiliate_id'),
  listTable('webhook_endpoints', 'id'),
  WEBHOOK_DELIVERIES,
  listTable('emails', 'id'),
];

/** Lists of a test account, which has no access and no payments of its own. */
const EXPORTED_TEST_LISTS: readonly ExportedList[] = [
  TEST_GENERATIONS,
  listTable('uploads', 'uuid'),
  GENERATION_INPUTS,
  listTable('webhook_endpoints', 'id'),
  WEBHOOK_DELIVERIES,
];

/**
 * Writes what is stored about the owner of an account as JSON: the account, then one list for each kind of data, then the
 * same for test mode. Rows are read
 * some at a time, so that the size of the account does not matter.
 */
export async function* exportAccount(account: Account): AsyncGenerator<string> {
  yield `{\n"account": ${JSON.stringify(pickAccountColumns(account.toJSON()))}`;
  yield* exportLists(EXPORTED_LISTS, account.id, '');
  const testAccountId = await findTestAccountId(account.id);
  if (testAccountId !== null) yield* exportLists(EXPORTED_TEST_LISTS, testAccountId, 'test_');
  yield '\n}\n';
}

async function* exportLists(lists: readonly ExportedList[], accountId: number, prefix: string): AsyncGenerator<string> {
  for (const list of lists) {
    yield `,\n"${prefix}${list.name}": [`;
    let count = 0;
    for await (const rows of readInBatches(list, accountId)) {
      yield rows.map((row, index) => `${count + index === 0 ? '' : ','}\n${JSON.stringify(row)}`).join('');
      count += rows.length;
    }
    yield '\n]';
  }
}

async function* readInBatches({ select, present = (row) => row }: ExportedList, accountId: number) {
  for (let after: unknown = null; ; ) {
    const rows = (await select(accountId, after)) as Row[];
    yield rows.map((row) => present(dropPosition(row)));
    if (rows.length < BATCH_SIZE) return;
    after = rows.at(-1)?.['export_position'];
  }
}

function dropPosition(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'export_position'));
}

function pickAccountColumns(account: Row): Row {
  return Object.fromEntries(COLUMNS.account.map((name) => [name, account[name]]));
}

/** Exports of an account within an hour. Each reads all of its rows. */
const EXPORTS_PER_HOUR = 5;

/**
 * Starts an export by the owner of an account, and records it in the security log.
 * @throws ServiceError rate_limited after some exports within an hour; not_found if the account was just erased.
 */
export async function startAccountExport(accountId: number, origin: RequestOrigin): Promise<AsyncGenerator<string>> {
  const account = await Account.transaction(async (transaction) => {
    const locked = await lockAccount(transaction, accountId);
    if (locked.erased_at !== null) throw new ServiceError('not_found', 'Not found. The account was deleted.');
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
    return locked;
  });
  return exportAccount(account);
}
