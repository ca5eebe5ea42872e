import { Model } from 'objection';
import type { EventType } from '../spec/events.ts';

/** An event that the transaction of a change wrote, because a webhook or an e-mail follows. */
export class OutboxEvent extends Model {
  static override tableName = 'outbox_events';
  static override jsonAttributes = ['details'];

  declare id: number;
  /** Identifies it to receivers: `webhook-id` is `msg_` and this. */
  declare uuid: string;
  declare account_id: number;
  declare type: EventType;
  /** Key of what the event is about. An account has one event of a type and subject. */
  declare subject: string;
  /** Facts of the moment, which cannot be read later. */
  declare details: Record<string, string | number | boolean | null>;
  /** False if no e-mail follows from it, although one follows from others of its type. */
  declare may_email: boolean;
  /** JSON that webhooks send. Built once, when the event is dispatched. */
  declare body: string | null;
  declare created_at: Date;
  declare dispatched_at: Date | null;
}
