import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import type { StatementOutcome } from './chargeStatement.ts';
import type { ChargeOutcome, Debit } from './debit.ts';

/** Rejections after which an earlier request with the same key counts, as the charge statement orders them. */
export const REPLAYABLE: ReadonlySet<StatementOutcome> = new Set([
  'input_unavailable',
  'subscription_required',
  'model_unavailable',
  'parallel_limit_reached',
  'spending_limit_reached',
  'insufficient_credits',
]);

const FIND_REPLAYED = prepared(
  'find_replayed',
  `SELECT wanted.uuid
     FROM unnest(cast(:uuids AS uuid[]), cast(:accounts AS bigint[]), cast(:keys AS text[]))
            AS wanted (uuid, account_id, idempotency_key)
     JOIN generations first USING (account_id, idempotency_key)`,
);

/**
 * Finds rejected requests whose idempotency key an earlier request has used. The charge statement does not find one
 * that committed while it waited for the account's lock, and that one may have used the last slot or the last credits.
 * Never rejects, because other requests of the batch are charged: if the lookup fails, the outcome of these is unknown.
 */
export async function findReplayed(rejected: Debit[]): Promise<Map<string, ChargeOutcome>> {
  const keyed = rejected.filter(({ idempotency_key: key }) => key !== null);
  if (keyed.length === 0) return new Map();
  try {
    const rows = await runStatement<{ uuid: string }>(FIND_REPLAYED, {
      uuids: keyed.map(({ uuid }) => uuid),
      accounts: keyed.map((charge) => charge.account_id),
      keys: keyed.map((charge) => charge.idempotency_key),
    });
    return new Map(rows.map(({ uuid }) => [uuid, 'replayed']));
  } catch (err) {
    logger.error({ err, charges: keyed.length }, 'lookup of idempotency keys failed');
    return new Map(keyed.map(({ uuid }) => [uuid, 'unknown']));
  }
}
