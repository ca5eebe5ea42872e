import { Model } from 'objection';
import type { LedgerEntryType } from '../spec/states.ts';

/** One posting of credits. The table is append-only: a database trigger rejects changes. */
export class LedgerEntry extends Model {
  static override tableName = 'ledger_entries';
  static override idColumn = ['account_id', 'number'];

  declare account_id: number;
  /** Sequence number within the account, from 1, without gaps. */
  declare number: number;
  declare uuid: string;
  declare entry_type: LedgerEntryType;
  /** Credits, signed. */
  declare amount: number;
  /** Part of amount that was posted to the plan bucket; the rest is top-up credits. */
  declare plan_amount: number;
  declare balance_after: number;
  declare description: string;
  declare generation_uuid: string | null;
  /** Unique key of an effect that must be posted once. */
  declare effect_key: string | null;
  declare created_at: Date;
}
