import { Model } from 'objection';
import type { EmailKind } from '../spec/events.ts';

/** An e-mail message to the owner of an account. It is addressed and written when it is sent. */
export class Email extends Model {
  static override tableName = 'emails';
  static override jsonAttributes = ['params'];

  declare id: number;
  /** Part of the Message-ID, the same in every attempt. */
  declare uuid: string;
  declare account_id: number;
  declare kind: EmailKind;
  /** An account receives one message of a kind and cause. */
  declare cause: string;
  declare params: Record<string, string | number | boolean | null>;
  declare status: 'pending' | 'sent' | 'failed';
  /** Why it failed. */
  declare last_error: string | null;
  declare created_at: Date;
  declare sent_at: Date | null;
}
