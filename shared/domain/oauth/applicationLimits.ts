import type { Knex } from 'knex';
import type { Transaction } from 'objection';
import { config } from '../../lib/config.ts';
import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { type CreditLimit, formatLimit, type SpendingLimitState } from '../../presenters/spendingLimit.ts';
import type { SpendingPeriod } from '../../spec/states.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { assertEnoughRights } from '../accounts/memberRights.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { assertFormNotStale } from '../accounts/staleForm.ts';
import { listApplicationLimits } from '../spendingLimits/listSpendingLimits.ts';
import { setSpendingLimit } from '../spendingLimits/setSpendingLimit.ts';

/** Returns APPLICATION_SPENDING_LIMIT, the limit of applications that have not had one; null if it is not set. */
function getDefaultApplicationLimit(): CreditLimit | null {
  if (config.APPLICATION_SPENDING_LIMIT === undefined) return null;
  const [credits, period] = config.APPLICATION_SPENDING_LIMIT.split('/');
  return { credits: Number(credits), period: period as SpendingPeriod };
}

/** Limit that the owner of an account is offered for an application. */
export interface OfferedLimit {
  /** The limit in force, or the default of an application that has not had one. Null: no limit. */
  limit: CreditLimit | null;
  /** The limit in force with its use; null if there is none. */
  current: SpendingLimitState | null;
}

/** Returns the limit that the consent page of an application preselects. */
export async function getOfferedLimit(
  accountId: number,
  clientId: string,
  connection: Knex = db,
): Promise<OfferedLimit> {
  const current = (await listApplicationLimits(accountId, connection)).get(clientId);
  // An owner who removed a limit is not offered the default again.
  return current === undefined ? { limit: getDefaultApplicationLimit(), current: null } : { limit: current, current };
}

/** An application that is given access, and its new limit. */
interface ApprovedLimit {
  clientId: string;
  /** Null removes the limit. Undefined keeps it, and sets the default if the application has not had one. */
  limit: CreditLimit | null | undefined;
}

/**
 * Stores the limit of an approval in its transaction, which has locked the account.
 * @throws ServiceError insufficient_scope as {@link setApplicationLimit}
 */
export async function storeApprovedLimit(
  transaction: Transaction,
  caller: Caller,
  { clientId, limit }: ApprovedLimit,
  origin: RequestOrigin,
): Promise<void> {
  const client = await OAuthClient.query(transaction).findById(clientId);
  // The client was pruned in the meantime: the approval fails, too.
  if (client === undefined) return;
  const chosen = limit === undefined ? (await getOfferedLimit(caller.accountId, clientId, transaction)).limit : limit;
  await setApplicationLimit(transaction, caller, { clientId, name: client.name }, chosen, origin);
}

const FIND_APPLICATION = prepared(
  'find_connected_application',
  `SELECT c.client_id, c.name FROM oauth_grants g JOIN oauth_clients c ON c.client_id = g.client_id
    WHERE g.uuid = :uuid AND g.account_id = :accountId
      AND EXISTS (SELECT FROM oauth_grants active
                   WHERE active.account_id = g.account_id AND active.client_id = g.client_id
                     AND active.connected_at IS NOT NULL AND active.revoked_at IS NULL)`,
);

/**
 * Changes the limit of a connected application, effective for its next generation.
 * @param uuid a grant of the application.
 * @param limit null removes it.
 * @param expected limit that the caller has read, formatted. Without it, every limit is overwritten.
 * @returns false if the account has no such application.
 * @throws ServiceError validation_error if the limit would be changed and is not the expected one; insufficient_scope
 *   as {@link setApplicationLimit}; invalid_api_key if the session of the caller ended meanwhile.
 */
export async function changeApplicationLimit(
  caller: Caller,
  uuid: string,
  { limit, expected }: { limit: CreditLimit | null; expected: string | undefined },
  origin: RequestOrigin,
): Promise<boolean> {
  const { accountId } = caller;
  return withAccountOfCaller(caller, async (transaction) => {
    const [row] = await runStatement<{ client_id: string; name: string }>(
      FIND_APPLICATION,
      { uuid, accountId },
      transaction,
    );
    if (row === undefined) return false;
    const { current } = await getOfferedLimit(accountId, row.client_id, transaction);
    const [present, intended] = [formatLimit(current), formatLimit(limit)];
    assertFormNotStale('The spending limit was changed', { expected, present, intended });
    await setApplicationLimit(transaction, caller, { clientId: row.client_id, name: row.name }, limit, origin);
    return true;
  });
}

/** Limits of different periods are not compared: neither is within the other. */
function isWithin(limit: CreditLimit | null, other: CreditLimit): boolean {
  return limit !== null && limit.period === other.period && limit.credits <= other.credits;
}

/**
 * Sets, changes or removes the limit of an application, which all members who connected it share.
 * @throws ServiceError insufficient_scope if it would be raised or removed and a member with a grant has rights that
 *   the caller lacks.
 */
async function setApplicationLimit(
  transaction: Transaction,
  caller: Caller,
  { clientId, name }: { clientId: string; name: string },
  limit: CreditLimit | null,
  origin: RequestOrigin,
): Promise<void> {
  const { accountId } = caller;
  const { current } = await getOfferedLimit(accountId, clientId, transaction);
  if (current !== null && !isWithin(limit, current)) {
    // Also of an approval whose code is not exchanged yet.
    const grants = await OAuthGrant.query(transaction)
      .where({ account_id: accountId, client_id: clientId })
      .whereNull('revoked_at')
      .distinct('member_number');
    await assertEnoughRights(transaction, caller, {
      memberNumbers: grants.map(({ member_number: number }) => number),
      name: 'This application',
      change: 'raise or remove its spending limit',
      instead: 'lower it',
    });
  }
  if (!(await setSpendingLimit(transaction, accountId, { clientId }, limit))) return;
  await recordSecurityEvent(transaction, {
    accountId,
    event: 'application_limit_changed',
    origin,
    details: { application: name, ...(limit === null ? {} : { credits: limit.credits, period: limit.period }) },
    subject: { client: clientId, limit: formatLimit(limit) },
  });
}
