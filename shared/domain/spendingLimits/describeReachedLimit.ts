import { config } from '../../lib/config.ts';
import { isOutage } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import type { SpendingLimitState } from '../../presenters/spendingLimit.ts';
import type { SpendingPeriod } from '../../spec/states.ts';
import type { SpendingLimit } from '../../tables/SpendingLimit.ts';
import type { Caller } from '../accounts/accounts.ts';
import { toSpendingLimitState } from './listSpendingLimits.ts';

const FIND_REACHED_LIMIT = prepared(
  'find_reached_limit',
  `SELECT l.credits, l.period, l.window_start, l.used, k.uuid AS key_uuid, c.name AS client_name
     FROM spending_limits l
     LEFT JOIN api_keys k ON k.account_id = l.account_id AND k.number = l.key_number
     LEFT JOIN oauth_clients c ON c.client_id = l.client_id
    WHERE l.account_id = :accountId
      AND (k.key_hash = cast(:keyHash AS bytea) OR l.client_id = cast(:clientId AS text))`,
);

type ReachedLimitRow = Pick<SpendingLimit, 'credits' | 'period' | 'window_start' | 'used'> & {
  key_uuid: string | null;
  client_name: string | null;
};

const PERIOD_TEXTS: Record<SpendingPeriod, string> = { day: 'per day', month: 'per month', total: 'in total' };

/**
 * Returns the detail of a rejection because of a spending limit. The limit is read again, so it may have changed since;
 * without the database the sentence has no figures.
 * @param credits price of the request.
 */
export async function describeReachedLimit(
  { accountId, keyHash, clientId }: Pick<Caller, 'accountId' | 'keyHash' | 'clientId'>,
  credits: number,
): Promise<string> {
  const bindings = { accountId, keyHash, clientId };
  const [row] = await runStatement<ReachedLimitRow>(FIND_REACHED_LIMIT, bindings).catch((error: unknown) => {
    if (!isOutage(error)) throw error;
    logger.warn({ err: error }, 'lookup of a spending limit failed');
    return [];
  });
  const limit = row === undefined ? null : toSpendingLimitState(row);
  if (row === undefined || limit === null)
    return `A spending limit does not cover the ${credits} credits of this generation. ${describeRemedy(undefined)}`;
  const owner = row.key_uuid === null ? `the application ${row.client_name ?? clientId}` : 'this API key';
  return [
    `The spending limit of ${owner} is ${limit.credits} credits ${PERIOD_TEXTS[limit.period]}: ${limit.used} are used, and this generation costs ${credits}.`,
    describeReset(limit, credits),
    describeRemedy(row),
  ].join(' ');
}

function describeReset({ credits: limit, resetsAt }: SpendingLimitState, credits: number): string {
  if (credits > limit) return 'It costs more than the whole limit, so waiting does not help.';
  return resetsAt === null ? 'The limit does not reset.' : `The limit resets at ${resetsAt.toISOString()}.`;
}

function describeRemedy(row: Pick<ReachedLimitRow, 'key_uuid'> | undefined): string {
  const pages = `${config.BASE_URL}/account`;
  if (row === undefined) return `The owner of the account can change it at ${pages}/keys/ or ${pages}/applications/.`;
  return row.key_uuid === null
    ? `The owner of the account can change the limit under connected applications: ${pages}/applications/.`
    : `The owner of the account can change the limit with PATCH /api/keys/${row.key_uuid}/ or at ${pages}/keys/.`;
}
