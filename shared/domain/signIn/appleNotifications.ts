import {
  getIdentityProviders,
  getIssuer,
  IdentityError,
  type IdentityNotification,
} from '../../gateways/identity/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Identity } from '../../tables/Identity.ts';
import { Session } from '../../tables/Session.ts';
import { lockPerson } from '../accounts/people.ts';
import { recordPersonEvent, removeIdentity } from './identities.ts';
import { SERVICE_ORIGIN } from '../accounts/securityEvents.ts';

/**
 * Applies a notification of Apple about one of its users. Applying it again changes nothing. It never changes credits,
 * API keys or applications, and never deletes an account.
 * - `consent-revoked` ends the sessions that the identity has opened until then. It stays linked, because Apple keeps
 *   its subject: the person signs in to the same account after giving consent again, even with another address.
 * - `account-delete`, in newer documents of Apple `account-deleted`, removes the identity with all its sessions: its
 *   subject never signs in again.
 * - All others, such as `email-disabled`, change nothing.
 * @param token signed token of Apple.
 * @throws ServiceError not_found without sign-in by Apple; validation_error for a token that cannot be trusted;
 *   internal_error while Apple's keys cannot be fetched.
 */
export async function receiveAppleNotification(token: string): Promise<void> {
  const { type, subject, at } = await readNotification(token);
  logger.info({ type }, 'notification of apple received');
  const isDeletion = type === 'account-delete' || type === 'account-deleted';
  if (type !== 'consent-revoked' && !isDeletion) return;
  const identity = await Identity.query().findById(['apple', getIssuer('apple'), subject]);
  // A repeated notification does not concern an identity that was linked again since.
  if (identity === undefined || identity.created_at > at) return;
  const { person_id: personId, uuid } = identity;
  if (isDeletion) await removeIdentity(personId, uuid, { currentToken: null }).catch(ignoreRemoved);
  else await endSessions(personId, uuid, at);
}

async function readNotification(token: string): Promise<IdentityNotification> {
  const apple = getIdentityProviders().apple;
  if (apple?.readNotification === undefined) {
    throw new ServiceError('not_found', 'Not found. Sign-in with Apple is not configured.');
  }
  try {
    return await apple.readNotification(token);
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    if (error.fault === 'unavailable') {
      logger.warn({ err: error }, 'keys of apple unavailable; notification not read');
      const detail = 'The keys of Apple cannot be fetched. Send the notification again later.';
      throw new ServiceError('internal_error', detail, { retryAfterSeconds: 60 });
    }
    const detail = 'payload must be a notification that Apple has signed for this service.';
    throw new ServiceError('validation_error', detail, { field: 'payload' });
  }
}

/** Ignores that the same notification, or the owner, removed the identity concurrently. */
function ignoreRemoved(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
}

/** Ends the sessions that an identity has opened until a time, so that a repeated notification ends no later ones. */
async function endSessions(personId: number, identityUuid: string, until: Date): Promise<void> {
  await Account.transaction(async (transaction) => {
    const locked = await lockPerson(transaction, personId);
    const opened = Session.query(transaction).where({ identity_uuid: identityUuid }).where('created_at', '<=', until);
    const sessions = await opened.delete();
    if (sessions > 0)
      await recordPersonEvent(transaction, locked, 'session_ended', SERVICE_ORIGIN, { sessions, provider: 'apple' });
  });
}
