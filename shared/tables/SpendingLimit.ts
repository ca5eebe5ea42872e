import { Model } from 'objection';
import type { SpendingPeriod } from '../spec/states.ts';

/** The most credits that an API key, an application, or a member with all it has made, may spend in a period. */
export class SpendingLimit extends Model {
  static override tableName = 'spending_limits';
  static override idColumn = ['account_id', 'number'];

  declare account_id: number;
  /** Sequence number within the account, from 1, without gaps. */
  declare number: number;
  /** Number of the API key, the application that was connected, or the number of the member: one of them. */
  declare key_number: number | null;
  declare client_id: string | null;
  declare member_number: number | null;
  /** Null if the limit was removed. */
  declare credits: number | null;
  declare period: SpendingPeriod;
  /** Start of the UTC day or month that `used` is about. The window may be over. Null for the period `total`. */
  declare window_start: Date | null;
  /** `generation_count` of the account when the window started: later generations belong to it. */
  declare generation_count_at_window_start: number;
  /** Cost of the generations of the window, less refunds. Not maintained while the limit is removed. */
  declare used: number;
  declare created_at: Date;
  declare updated_at: Date;
}
