/** A statement that violates an invariant in the ledger fixture. */
export interface Corruption {
  /** The account that the violation is reported for; null: none. */
  accountId: number | null;
  sql: string;
}

export const breakCustomer = (sql: string): Corruption => ({ accountId: 1, sql });
export const breakAffiliate = (sql: string): Corruption => ({ accountId: 2, sql });
export const breakPlatform = (sql: string): Corruption => ({ accountId: null, sql });

/** Builds an INSERT that repeats a ledger entry with some columns changed. */
export const duplicateEntrySql = (which: string, changes: Record<string, string>) => {
  const columns =
    'account_id number uuid entry_type amount plan_amount balance_after description generation_uuid effect_key created_at'.split(
      ' ',
    );
  return `INSERT INTO ledger_entries (${columns.join(', ')})
    SELECT ${columns.map((column) => changes[column] ?? (column === 'number' ? 'number + 1000' : column)).join(', ')}
      FROM ledger_entries WHERE ${which} ORDER BY number LIMIT 1`;
};

export const ONE_BURN = `account_id = 1 AND entry_type = 'burn'`;
export const QUEUED = `status = 'queued'`;

/** Builds an INSERT of an audit entry about account 1. */
export const suspensionSql = (action: string, generations: number | null) =>
  `INSERT INTO audit_entries (uuid, created_at, command_user, role, action, account_id, target_type, target_id, reason,
                              before, after)
   SELECT gen_random_uuid(), now(), 'test', 'system', '${action}', id, 'account', uuid, '',
          jsonb_build_object('generation_count', count), jsonb_build_object('generation_count', count)
     FROM accounts, LATERAL (SELECT coalesce(${generations}, generation_count) AS count) AS c WHERE id = 1`;
