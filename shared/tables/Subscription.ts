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
  /** Credit periods are months counted from this time. */
  declare started_at: Date;
  /** End of the billing period. */
  declare current_period_end: Date;
  declare cancel_at_period_end: boolean;
  /** Time at which it was canceled. */
  declare ended_at: Date | null;
  /** null if the payment was simulated. */
  declare stripe_subscription_id: string | null;
  /** End of the last period whose invoice was paid. Months are granted up to this time. */
  declare paid_until: Date;
  declare past_due_since: Date | null;
  /** Time at which its first month was granted; null before that. */
  declare activated_at: Date | null;
  /** Disputed charge of this subscription. While it is set, no credits can be spent. */
  declare disputed_charge_id: string | null;
  /** Action at the payment processor: resolve which of two live subscriptions stays, cancel, or cancel and refund. */
  declare follow_up: 'resolve' | 'cancel' | 'refund' | null;
  /** Plan whose upgrade was refunded in the current year. */
  declare refunded_upgrade: string | null;
  /** Version of the last snapshot of the processor that was applied. */
  declare sync_version: number;
  declare synced_at: Date | null;
  declare created_at: Date;

  static override modifiers = {
    live: (query: import('objection').AnyQueryBuilder) => query.whereIn('status', [...LIVE_SUBSCRIPTION_STATUSES]),
  };
}
