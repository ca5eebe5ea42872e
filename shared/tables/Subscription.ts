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
  declare created_at: Date;

  static override modifiers = {
    live: (query: import('objection').AnyQueryBuilder) => query.whereIn('status', [...LIVE_SUBSCRIPTION_STATUSES]),
  };
}
