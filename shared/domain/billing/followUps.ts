import { addMilliseconds, now } from '../../lib/clock.ts';
import type { Subscription } from '../../tables/Subscription.ts';

/**
 * A call to make at the processor after a commit. The transaction has recorded it (`subscriptions.follow_up`,
 * `owed_refunds`), so that a sweep finds what was not done.
 * - `resolve`: find out which of two live subscriptions stays.
 * - `cancel`: end a subscription that another one has replaced.
 * - `refund`: end a second subscription, whose payments are then owed to the customer.
 * - `issueRefunds`: issue the owed refunds of a subscription that has ended.
 */
export interface FollowUp {
  action: 'resolve' | 'cancel' | 'refund' | 'issueRefunds';
  subscription: Subscription;
}

export const FOLLOW_UP_DONE = { follow_up_next_attempt_at: null };
/** The process that recorded a follow-up runs it right away: the sweep leaves it alone for this long. */
export const FOLLOW_UP_SWEEP_GRACE_MS = 30_000;

/** Returns the columns that record a follow-up, or clear it. One that is repeated keeps its first time. */
export function buildFollowUpColumns(
  before: Subscription,
  followUp: Subscription['follow_up'],
): Pick<Subscription, 'follow_up' | 'follow_up_at' | 'follow_up_next_attempt_at'> {
  if (followUp === null) return { follow_up: null, follow_up_at: null, follow_up_next_attempt_at: null };
  const since = before.follow_up === followUp && before.follow_up_at !== null ? before.follow_up_at : now();
  return {
    follow_up: followUp,
    follow_up_at: since,
    follow_up_next_attempt_at: addMilliseconds(now(), FOLLOW_UP_SWEEP_GRACE_MS),
  };
}
