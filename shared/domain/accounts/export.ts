import { db } from '../../lib/database/pool.ts';
import type { Account } from '../../tables/Account.ts';

/**
 * Columns that an export leaves out: hashes and internal identifiers, which say nothing about the person and must not
 * leave the database.
 */
const OMITTED_COLUMNS = new Set([
  'token_hash',
  'key_hash',
  'id',
  'account_id',
  'subscription_id',
  'identity_uuid',
  'upstream_handle',
  'effect_key',
]);

/** Tables with rows of an account, and the column that orders them. */
const EXPORTED_TABLES = {
  identities: 'created_at',
  sessions: 'created_at',
  api_keys: 'number',
  oauth_grants: 'created_at',
  generations: 'number',
  ledger_entries: 'number',
  subscriptions: 'id',
  topups: 'created_at',
  topup_refunds: 'created_at',
  owed_refunds: 'created_at',
  invoices: 'created_at',
  affiliates: 'account_id',
} as const;

/** Collects all that is stored about an account, by table, as plain JSON values. */
export async function exportAccount(account: Account): Promise<Record<string, unknown>> {
  const exported: Record<string, unknown> = { account: omitInternalColumns(account.toJSON()) };
  for (const [table, order] of Object.entries(EXPORTED_TABLES)) {
    const rows = (await db(table).where({ account_id: account.id }).orderBy(order)) as Record<string, unknown>[];
    exported[table] = rows.map(omitInternalColumns);
  }
  return exported;
}

function omitInternalColumns(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !OMITTED_COLUMNS.has(name)));
}
