import type { Queryable } from '../../../shared/domain/credits/integrity/invariant.ts';
import type { ClientStore } from './clientStore.ts';
import type { ReportFunction } from './violations.ts';

interface DeletionRow {
  uuid: string;
  email: string;
  is_requested: boolean;
  is_erased: boolean;
  sessions: number;
  prompts: number;
  /** False while the erasure continues. */
  is_completed: boolean;
}

/** Checks that deletions were not lost, that undone ones are over, and that an erasure left no personal data. */
export async function compareDeletions(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT a.uuid, a.email, a.deletion_requested_at IS NOT NULL AS is_requested, a.erased_at IS NOT NULL AS is_erased,
            (SELECT count(*)::int FROM sessions s WHERE s.account_id = a.id) AS sessions,
            (SELECT count(*)::int FROM generations g WHERE g.account_id = a.id AND g.prompt <> '') AS prompts,
            NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id) AS is_completed
       FROM accounts a WHERE a.uuid = ANY ($1::uuid[])`,
    [store.deletions.map(({ accountUuid }) => accountUuid)],
  );
  const kept = new Map((rows as DeletionRow[]).map((row) => [row.uuid, row]));
  for (const { accountUuid, email, isUndone } of store.deletions) {
    const row = kept.get(accountUuid);
    if (row !== undefined && isConsistent(row, email, isUndone)) continue;
    report(
      'deletion-is-carried-out',
      accountUuid,
      email,
      `undone: ${isUndone}; in the database ${JSON.stringify(row)}`,
    );
  }
}

function isConsistent(row: DeletionRow, email: string, isUndone: boolean): boolean {
  if (isUndone) return !row.is_requested && !row.is_erased && row.email === email;
  if (!row.is_requested) return false;
  return row.is_erased
    ? row.email !== email && row.sessions === 0 && (!row.is_completed || row.prompts === 0)
    : row.email === email;
}
