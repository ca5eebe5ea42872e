import { Model } from 'objection';
import type { LedgerEntryType } from '../spec/states.ts';

/** One movement of credits. Written once, never changed: the database refuses it. */
export class LedgerEntry extends Model {
  static override tableName = 'ledger_entries';
  static override idColumn = ['account_id', 'number'];

  declare account_id: number;
  /** The how-manieth entry of its account, from 1, without gaps. */
  declare number: number;
  declare uuid: string;
  declare entry_type: LedgerEntryType;
  /** Credits, signed. */
  declare amount: number;
  /** The part of amount that went into or out of the plan bucket; the rest is top-up credits. */
  declare plan_amount: number;
  declare balance_after: number;
  declare description: string;
  declare generation_uuid: string | null;
  /** Names an effect that must happen once. */
  declare effect_key: string | null;
  declare created_at: Date;
}
