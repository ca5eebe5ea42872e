import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { SPENDING_WINDOW } from './window.ts';
import { SPENDING_LIMIT_INVARIANTS } from './invariants.ts';

export const SPENDING_LIMITS: DomainFeature = {
  sqlFunctions: [SPENDING_WINDOW],
  invariants: SPENDING_LIMIT_INVARIANTS,
  exportLists: [
    listTable('spending_limits', 'number', [
      'number',
      'key_number',
      'client_id',
      'member_number',
      'credits',
      'period',
      'window_start',
      'used',
      'created_at',
      'updated_at',
    ]),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await SpendingLimit.query(transaction).delete().where({ account_id: accountId });
    },
  },
};
