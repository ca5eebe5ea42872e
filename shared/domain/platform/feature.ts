import { IDEMPOTENCY_KEY_RETENTION_MS } from '../../spec/limits.ts';
import { IdempotentRequest } from '../../tables/IdempotentRequest.ts';
import type { DomainFeature } from '../feature.ts';

export const PLATFORM: DomainFeature = {
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await IdempotentRequest.query(transaction).delete().where({ account_id: accountId });
    },
  },
  retention: [
    {
      table: 'idempotent_requests',
      key: 'account_id, scope, key_hash',
      since: 'created_at',
      afterMs: IDEMPOTENCY_KEY_RETENTION_MS,
    },
  ],
};
