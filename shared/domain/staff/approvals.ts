import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getStaffRole } from '../../lib/staffEmails.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { hasPermission } from '../../spec/staff.ts';
import { Account } from '../../tables/Account.ts';
import { StaffApproval } from '../../tables/StaffApproval.ts';
import {
  assertNotErased,
  assertRemovable,
  type CreditAdjustment,
  postAdjustmentWithin,
} from '../adjustments/creditAdjustments.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { recordAuditEntry, type StaffActor } from '../audit/recordAuditEntry.ts';
import { hasJoined, listAccountsWithSameOwner } from '../audit/staffAccounts.ts';

/**
 * Stores an adjustment until another member decides. The request name is a UUID.
 * @returns false if the same form requested it before.
 * @throws ServiceError validation_error, admin_required
 */
export async function requestApproval(
  { accountId, credits, note, requestName: uuid }: CreditAdjustment,
  actor: StaffActor,
): Promise<boolean> {
  return withAccountLock(accountId, async (transaction, account) => {
    // Covers the same form for another account.
    await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [uuid]);
    const earlier = await StaffApproval.query(transaction).findById(uuid);
    if (earlier !== undefined) {
      if (earlier.account_id === accountId && earlier.credits === credits && earlier.note === note) return false;
      const detail = 'The form has requested another adjustment before. Reload its page and send it again.';
      throw new ServiceError('validation_error', detail);
    }
    assertNotErased(account);
    assertRemovable(credits, account.topup_credits);
    await StaffApproval.query(transaction).insert({
      uuid,
      account_id: accountId,
      credits,
      note,
      reason: actor.reason,
      requested_by: actor.accountId,
      requested_at: now(),
      request_id: actor.requestId,
      ip_address: actor.ipAddress,
    });
    await recordAuditEntry(transaction, actor, {
      action: 'credits.request',
      accountId,
      targetId: account.uuid,
      after: { credits, approval: uuid },
    });
    return true;
  });
}

/** A stored request, with the accounts that it names. */
export interface ListedApproval {
  approval: StaffApproval;
  account: Account;
  requester: Account;
}

/** Lists the requests that wait for a decision, oldest first. */
export async function listPendingApprovals(accountId?: number): Promise<ListedApproval[]> {
  const query = StaffApproval.query()
    .whereNull('decided_at')
    .where('requested_at', '>', addMilliseconds(now(), -DAY_MS))
    .orderBy('requested_at');
  if (accountId !== undefined) void query.where({ account_id: accountId });
  return Promise.all((await query).map(describeApproval));
}

/** @throws ServiceError not_found */
export async function findApproval(uuid: string): Promise<ListedApproval> {
  const approval = await StaffApproval.query().findById(uuid);
  if (approval !== undefined) return describeApproval(approval);
  throw new ServiceError('not_found', 'Not found. There is no request for approval with that UUID.');
}

async function describeApproval(approval: StaffApproval): Promise<ListedApproval> {
  const account = await Account.query().findById(approval.account_id).throwIfNotFound();
  return { approval, account, requester: await Account.query().findById(approval.requested_by).throwIfNotFound() };
}

/**
 * Approves or rejects a request. An approved adjustment is posted as the one of the member who requested it.
 * @returns false if it was decided so before.
 * @throws ServiceError validation_error, admin_required
 */
export async function decideApproval(
  uuid: string,
  outcome: 'approved' | 'rejected',
  actor: StaffActor,
): Promise<boolean> {
  const { account_id: accountId } = await StaffApproval.query().findById(uuid).throwIfNotFound();
  const isDecided = await withAccountLock(accountId, async (transaction, account) => {
    // The lock of the account covers its requests.
    const approval = await StaffApproval.query(transaction).findById(uuid).throwIfNotFound();
    if (approval.outcome === outcome) return false;
    await assertMayDecide(transaction, approval, actor);
    const { credits, requested_by: requestedBy } = approval;
    await recordAuditEntry(transaction, actor, {
      action: outcome === 'approved' ? 'credits.approve' : 'credits.reject',
      accountId,
      targetId: account.uuid,
      after: { credits, approval: uuid, requestedByAccount: requestedBy },
    });
    if (outcome === 'approved') await postApproved(transaction, approval, actor);
    await approval.$query(transaction).patch({ outcome, decided_by: actor.accountId, decided_at: now() });
    return true;
  });
  if (isDecided) logger.info({ approval: uuid, outcome }, 'credit adjustment decided');
  return isDecided;
}

/** Returns a sentence about a request that is decided or expired, or undefined for one that waits for a decision. */
export function describeClosedApproval({ outcome, requested_at: requestedAt }: StaffApproval): string | undefined {
  if (outcome !== null) return `The request was ${outcome} before.`;
  const isExpired = requestedAt <= addMilliseconds(now(), -DAY_MS);
  return isExpired ? 'The request has expired after 24 hours. Request the adjustment again.' : undefined;
}

async function assertMayDecide(
  transaction: Transaction,
  approval: StaffApproval,
  { accountId }: StaffActor,
): Promise<void> {
  const closed = describeClosedApproval(approval);
  if (closed !== undefined) throw new ServiceError('validation_error', closed);
  if ((await listAccountsWithSameOwner(transaction, accountId)).includes(approval.requested_by))
    throw new ServiceError('admin_required', 'You requested the adjustment, so another member of staff must decide.');
  if (await hasJoined(transaction, accountId, approval.account_id)) {
    const detail = 'The account is your own, or you are a member of it, so another member of staff must decide.';
    throw new ServiceError('admin_required', detail);
  }
}

async function postApproved(transaction: Transaction, approval: StaffApproval, decider: StaffActor): Promise<void> {
  const requester = await Account.query(transaction).findById(approval.requested_by).throwIfNotFound();
  const role = getStaffRole(requester.email);
  if (role === undefined || !hasPermission(role, 'adjustCredits'))
    throw new ServiceError('validation_error', 'The member who requested it may not adjust credits any more.');
  const { uuid, account_id: accountId, credits, note, reason, request_id: requestId, ip_address: ipAddress } = approval;
  const actor: StaffActor = { kind: 'staff', accountId: requester.id, role, reason, requestId, ipAddress };
  const adjustment = { accountId, credits, note, requestName: `approval-${uuid}` };
  const approvedBy = { approval: uuid, approvedByAccount: decider.accountId };
  const isPosted = await postAdjustmentWithin(transaction, adjustment, actor, approvedBy);
  if (!isPosted) throw new Error(`The request ${uuid} is not decided, but its adjustment was posted.`);
}
