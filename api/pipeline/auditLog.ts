import { getAccount } from '../../shared/domain/accounts/accounts.ts';
import { type Context, getRequestLogger } from '../context.ts';
import { networkPrefix } from './networkPrefix.ts';

/** Security events in the logs: sign-ins, and changes of credentials and grants. */
export type AuditEvent =
  | 'signed_in'
  | 'sign_in_failed'
  | 'signed_out'
  | 'session_ended'
  | 'identity_linked'
  | 'identity_removed'
  | 'identity_restored'
  | 'key_created'
  | 'key_changed'
  | 'key_revoked'
  | 'webhook_created'
  | 'webhook_deleted'
  | 'webhook_secret_rotated'
  | 'grant_given'
  | 'grant_limit_changed'
  | 'grant_ended';

/**
 * Logs a security event with the caller's network and the uuid of the account. Never pass a secret.
 * @param accountId the affected account, or null if it is unknown.
 */
export async function audit(
  ctx: Context,
  event: AuditEvent,
  accountId: number | null,
  details: Record<string, string | number | readonly string[]> = {},
): Promise<void> {
  // The change is already committed: an audit line without the uuid is better than an error.
  const account = accountId === null ? undefined : await getAccount(accountId).catch(() => undefined);
  const network = networkPrefix(ctx.ip);
  getRequestLogger(ctx.state).info(
    { event, account: accountId, accountUuid: account?.uuid, network, ...details },
    'audit',
  );
}
