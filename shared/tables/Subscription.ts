import { Model } from 'objection';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../spec/states.ts';

/** One annual subscription of an account; an account has at most one live one. */
export class Subscription extends Model {
  static override tableName = 'subscriptions';

  declare id: number;
  declare uuid: string;
  declare account_id: number;
  declare plan_slug: string;
  declare status: SubscriptionStatus;
  declare processor: string;
  /** Credit periods are months counted from here. */
  declare started_at: Date;
  /** The end of what is paid for. */
  declare current_period_end: Date;
  declare cancel_at_period_end: boolean;
  /** null for one whose payment was simulated. */
  declare stripe_subscription_id: string | null;
  /** Up to here months may be granted: the end of the last period whose invoice was paid. */
  declare paid_until: Date;
  declare past_due_since: Date | null;
  /** When its first month was granted; null where none was yet. */
  declare activated_at: Date | null;
  /** The charge of it that is being disputed: nothing may be spent then. */
  declare disputed_charge_id: string | null;
  /** What is to be done at the payment processor, or was: which of two live ones stays, its end, its end and refund. */
  declare follow_up: 'resolve' | 'cancel' | 'refund' | null;
  declare follow_up_at: Date | null;
  /** When the next attempt is made; null once it is done. */
  declare follow_up_next_attempt_at: Date | null;
  /** The plan whose upgrade was refunded in the running year. */
  declare refunded_upgrade: string | null;
  /** Of the last look at the processor that was applied. */
  declare sync_version: number;
  declare synced_at: Date | null;
  declare created_at: Date;

  static override modifiers = {
    live: (query: import('objection').AnyQueryBuilder) => query.whereIn('status', [...LIVE_SUBSCRIPTION_STATUSES]),
  };
}
