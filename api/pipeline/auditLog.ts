import { getAccount } from '../../shared/domain/accounts/accounts.ts';
import type { Context } from '../context.ts';
import { networkPrefix } from './networkPrefix.ts';

/** Security events that the logs keep, so that who signed in, and who made or ended access, can be told afterwards. */
export type AuditEvent =
  | 'signed_in'
  | 'sign_in_failed'
  | 'signed_out'
  | 'session_ended'
  | 'identity_linked'
  | 'identity_removed'
  | 'key_created'
  | 'key_revoked'
  | 'grant_given'
  | 'grant_ended';

/**
 * Logs a security event with the network that it came from and the uuid of the account. Never pass a secret.
 * @param accountId the account that it is about; null where it is not known.
 */
export async function audit(
  ctx: Context,
  event: AuditEvent,
  accountId: number | null,
  details: Record<string, string | number | readonly string[]> = {},
): Promise<void> {
  // The effect has happened: an audit line without the uuid is better than an error.
  const account = accountId === null ? undefined : await getAccount(accountId).catch(() => undefined);
  const network = networkPrefix(ctx.ip);
  ctx.state.log.info({ event, account: accountId, accountUuid: account?.uuid, network, ...details }, 'audit');
}
