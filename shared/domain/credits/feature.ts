import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { LEDGER_INVARIANTS } from './invariants.ts';
import { LOCK_ACCOUNTS } from './ledger.ts';
import { MONTH_PLAN, MONTH_START, RENEW_CREDIT_PERIODS } from './periods.ts';

export const CREDITS: DomainFeature = {
  sqlFunctions: [LOCK_ACCOUNTS, MONTH_START, MONTH_PLAN, RENEW_CREDIT_PERIODS],
  invariants: LEDGER_INVARIANTS,
  exportLists: [
    listTable('ledger_entries', 'number', [
      'number',
      'uuid',
      'entry_type',
      'amount',
      'plan_amount',
      'balance_after',
      'description',
      'generation_uuid',
      'created_at',
    ]),
  ],
};
