import Type, { type Static } from 'typebox';
import { LEDGER_ENTRY_TYPES } from '../spec/states.ts';
import { presentAs, Timestamp, Uuid } from './fields.ts';

export const LedgerEntryResponse = Type.Object({
  uuid: Uuid,
  entry_type: Type.Enum([...LEDGER_ENTRY_TYPES]),
  amount: Type.Integer({ description: 'Credits, signed: a burn is negative' }),
  balance_after: Type.Integer(),
  description: Type.String(),
  created_at: Timestamp,
});

export const presentLedgerEntry = (row: Static<typeof LedgerEntryResponse>) => presentAs(LedgerEntryResponse, row);
