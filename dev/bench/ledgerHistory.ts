import type { Client } from 'pg';

/** Rounds of one entry per account that one statement writes. */
const ROUNDS_PER_STATEMENT = 10;
/** The largest index of 10^8 rows is sorted in several runs, in a few minutes. */
const INDEX_MEMORY = '1GB';

const HISTORY = `
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                              generation_uuid, created_at)
  SELECT account.id, round.n + 1, CASE WHEN round.n % 2 = 0 THEN 'refund' ELSE 'burn' END, signed, signed,
         account.balance + least(signed, 0), 'Generation: imgmodel-2', generation, at
    FROM generate_series($1::int, $2::int) AS round (n),
         LATERAL (SELECT id, balance + period_used AS balance FROM accounts WHERE round.n > 0) account,
         LATERAL (SELECT CASE WHEN round.n % 2 = 0 THEN 8 ELSE -8 END AS signed,
                         now() - interval '301 days' + interval '1 day' * (round.n / $3::float8) AS at,
                         (lpad(to_hex((round.n + 1) / 2), 12, '0') || left(md5(account.id::text), 20))::uuid
                           AS generation) derived`;

/**
 * Writes a burn and its refund in turn for each account, numbered from 2 and in chronological order, so that the
 * entries of one account are not adjacent. The generations themselves are not written: only the ledger grows.
 * Keys and indexes are built afterwards, which is several times faster than keeping them.
 * @param entries per account, an even number: the balances stay the same.
 */
export async function writeLedgerHistory(client: Client, entries: number): Promise<void> {
  const { rows: indexes } = await client.query<{ drop: string; create: string }>(
    `SELECT coalesce('ALTER TABLE ledger_entries DROP CONSTRAINT ' || k.conname,
                     'DROP INDEX ' || i.indexrelid::regclass) AS drop,
            coalesce('ALTER TABLE ledger_entries ADD CONSTRAINT ' || k.conname || ' ' || pg_get_constraintdef(k.oid),
                     replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')) AS create
       FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
      WHERE i.indrelid = 'ledger_entries'::regclass`,
  );
  for (const { drop } of indexes) await client.query(drop);
  for (let first = 1; first <= entries; first += ROUNDS_PER_STATEMENT) {
    const last = Math.min(entries, first + ROUNDS_PER_STATEMENT - 1);
    await client.query(HISTORY, [first, last, entries]);
  }
  await client.query(`SET maintenance_work_mem = '${INDEX_MEMORY}'`);
  for (const { create } of indexes) await client.query(create);
  await client.query('RESET maintenance_work_mem');
}
