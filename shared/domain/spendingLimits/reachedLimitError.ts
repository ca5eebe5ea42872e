import { config } from '../../lib/config.ts';
import { isOutage } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import type { SpendingLimitState } from '../../presenters/spendingLimit.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { SpendingPeriod } from '../../spec/states.ts';
import type { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { toSpendingLimitState } from './listSpendingLimits.ts';

const FIND_REACHED_LIMIT = prepared(
  'find_reached_limit',
  `SELECT l.credits, l.period, l.window_start, l.used, l.member_number, k.uuid AS key_uuid, c.name AS client_name
     FROM spending_limits l
     LEFT JOIN api_keys k ON k.account_id = l.account_id AND k.number = l.key_number
     LEFT JOIN oauth_clients c ON c.client_id = l.client_id
    WHERE l.account_id = :accountId
      AND (k.key_hash = cast(:keyHash AS bytea) OR l.client_id = cast(:clientId AS text)
           OR l.member_number = cast(:memberNumber AS integer))`,
);

type ReachedLimitRow = Pick<SpendingLimit, 'member_number' | 'credits' | 'period' | 'window_start' | 'used'> & {
  key_uuid: string | null;
  client_name: string | null;
};

const PERIOD_TEXTS: Record<SpendingPeriod, string> = { day: 'per day', month: 'per month', total: 'in total' };

/** The key or the application of a request, null for the other of them, and the member who made it. */
export interface LimitOwner {
  accountId: number;
  keyHash: Buffer | null;
  clientId: string | null;
  memberNumber: number | null;
}

/**
 * Builds the rejection because of a spending limit. The limit is read again, so it may have changed since; without the
 * database the sentence has no figures.
 * @param credits price of the request.
 */
export async function buildReachedLimitError(
  { accountId, keyHash, clientId, memberNumber }: LimitOwner,
  credits: number,
): Promise<ServiceError> {
  const bindings = { accountId, keyHash, clientId, memberNumber };
  const rows = await runStatement<ReachedLimitRow>(FIND_REACHED_LIMIT, bindings).catch((error: unknown) => {
    if (!isOutage(error)) throw error;
    logger.warn({ err: error }, 'lookup of a spending limit failed');
    return [];
  });
  const reached = rows.flatMap((row) => {
    const limit = toSpendingLimitState(row);
    return limit !== null && limit.used + credits > limit.credits ? [{ row, limit }] : [];
  });
  // The limit of the key or the application first: it is the closer one.
  const [first] = reached.toSorted(
    (a, b) => Number(a.row.member_number !== null) - Number(b.row.member_number !== null),
  );
  if (first === undefined) {
    const pages = `${buildPageUrl(KEYS_PATH)} or ${buildPageUrl(APPLICATIONS_PATH)}`;
    const detail = `A spending limit does not cover the ${credits} credits of this generation. At ${pages} the owner of the account can change it.`;
    return new ServiceError('spending_limit_reached', detail);
  }
  const { row, limit } = first;
  const { owner, accountPath, change } = describeSpender(row, clientId);
  const detail = [
    `The spending limit of ${owner} is ${limit.credits} credits ${PERIOD_TEXTS[limit.period]}: ${limit.used} are used, and this generation costs ${credits}.`,
    describeReset(limit, credits),
    `The owner of the account can change the limit at ${buildPageUrl(accountPath)}${change}.`,
  ].join(' ');
  return new ServiceError('spending_limit_reached', detail, { accountPath });
}

/** Names what has a limit, the page where it is changed, and another way. */
function describeSpender(
  { member_number: member, key_uuid: keyUuid, client_name: name }: ReachedLimitRow,
  clientId: string | null,
) {
  if (member !== null) return { owner: 'the member who makes this request', accountPath: MEMBERS_PATH, change: '' };
  if (keyUuid === null)
    return {
      owner: `the application ${name ?? clientId}`,
      accountPath: APPLICATIONS_PATH,
      change: ' (connected applications)',
    };
  const change = ` or with PATCH /api/keys/${keyUuid}/ and a new credit_limit`;
  return { owner: 'this API key', accountPath: `${KEYS_PATH}${keyUuid}/`, change };
}

const KEYS_PATH = '/account/keys/';
const MEMBERS_PATH = '/account/members/';
const APPLICATIONS_PATH = '/account/applications/';

const buildPageUrl = (path: string): string => `${config.BASE_URL}${path}`;

function describeReset({ credits: limit, resetsAt }: SpendingLimitState, credits: number): string {
  if (credits > limit) return 'It costs more than the whole limit, so waiting does not help.';
  return resetsAt === null ? 'The limit does not reset.' : `The limit resets at ${resetsAt.toISOString()}.`;
}
