import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { Invitation } from '../../tables/Invitation.ts';
import type { Member } from '../../tables/Member.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';

/** Finds invitations that were neither accepted nor revoked. An expired one can be sent again. */
export const openInvitations = (transaction?: Transaction) =>
  Invitation.query(transaction).whereNull('accepted_at').whereNull('revoked_at');

/** Revokes the open invitations that a member sent, who may not invite any more. */
export async function revokeSentInvitations(
  transaction: Transaction,
  { account_id: accountId, number }: Pick<Member, 'account_id' | 'number'>,
  origin: RequestOrigin,
): Promise<void> {
  const sent = openInvitations(transaction).where({ account_id: accountId, invited_by: number });
  await revoke(transaction, accountId, sent, origin);
}

/**
 * Revokes the open invitations of an account that the transaction has locked.
 * @param since those that were created before this time stay.
 * @returns the number of them.
 */
export async function revokeInvitations(
  transaction: Transaction,
  accountId: number,
  since: Date,
  origin: RequestOrigin,
): Promise<number> {
  const made = openInvitations(transaction).where({ account_id: accountId }).where('created_at', '>=', since);
  return revoke(transaction, accountId, made, origin);
}

async function revoke(
  transaction: Transaction,
  accountId: number,
  open: ReturnType<typeof openInvitations>,
  origin: RequestOrigin,
): Promise<number> {
  const revoked = await open.patch({ revoked_at: now() }).returning(['uuid', 'email']);
  for (const { uuid, email } of revoked)
    await recordSecurityEvent(transaction, {
      accountId,
      event: 'invitation_revoked',
      origin,
      details: { member: email },
      subject: { invitation: uuid },
    });
  return revoked.length;
}
