import Type, { type Static } from 'typebox';
import { LEDGER_ENTRY_TYPES } from '../spec/states.ts';
import type { LedgerEntry } from '../tables/LedgerEntry.ts';
import { Timestamp, Uuid } from './fields.ts';

export const LedgerEntryResponse = Type.Object({
  uuid: Uuid,
  entry_type: Type.Enum([...LEDGER_ENTRY_TYPES]),
  amount: Type.Integer({ description: 'Credits, signed: a burn is negative' }),
  balance_after: Type.Integer(),
  description: Type.String(),
  created_at: Timestamp,
});

export function presentLedgerEntry(
  row: Pick<LedgerEntry, 'uuid' | 'entry_type' | 'amount' | 'balance_after' | 'description' | 'created_at'>,
): Static<typeof LedgerEntryResponse> {
  return {
    uuid: row.uuid,
    entry_type: row.entry_type,
    amount: row.amount,
    balance_after: row.balance_after,
    description: row.description,
    created_at: row.created_at,
  };
}
