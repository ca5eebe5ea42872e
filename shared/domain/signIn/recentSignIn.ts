import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { IDENTITY_UNDO_DAYS, RECENT_SIGN_IN_MINUTES } from '../../spec/limits.ts';
import type { Caller } from '../accounts/caller.ts';

const FIND_RECENT_SIGN_IN = prepared(
  'find_recent_sign_in',
  `SELECT s.uuid FROM sessions s LEFT JOIN identities i ON i.uuid = s.identity_uuid
    WHERE s.token_hash = :sessionHash AND s.created_at > :after
      AND (i.uuid IS NULL OR i.created_at <= :linkedBefore
           OR NOT EXISTS (SELECT FROM identities o WHERE o.person_id = i.person_id AND o.created_at < i.created_at)
          AND NOT EXISTS (SELECT FROM members m
                            JOIN security_events e ON e.account_id = m.account_id AND e.member_number = m.number
                           WHERE m.person_id = i.person_id AND e.event = 'identity_removed'
                             AND e.created_at > :linkedBefore
                             AND cast(e.details ->> 'linked_at' AS timestamptz) < i.created_at))`,
);

/**
 * Returns whether a caller may change credentials. A session must have been opened within the last minutes, by an
 * identity that was not linked lately, unless it is the first and no earlier one was removed lately: a stolen session
 * cannot confirm itself by an identity that it has linked. Other credentials are not concerned.
 */
export async function isSignInRecent({ credential }: Pick<Caller, 'credential'>): Promise<boolean> {
  if (credential.kind !== 'session') return true;
  const found = await runStatement(FIND_RECENT_SIGN_IN, {
    sessionHash: credential.hash,
    after: addMilliseconds(now(), -RECENT_SIGN_IN_MINUTES * MINUTE_MS),
    linkedBefore: addMilliseconds(now(), -IDENTITY_UNDO_DAYS * DAY_MS),
  });
  return found.length > 0;
}

/** Builds the error for a session whose sign-in is not recent. */
export function signInNotRecentError(): ServiceError {
  const detail = `This requires a sign-in within the last ${RECENT_SIGN_IN_MINUTES} minutes, with a sign-in method that is older than ${IDENTITY_UNDO_DAYS} days or the first of the account. Open ${config.BASE_URL}/sign-in?again=yes in the browser, sign in again, and repeat the request.`;
  return new ServiceError('insufficient_scope', detail);
}
