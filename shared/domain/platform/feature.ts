import { IdempotentRequest } from '../../tables/IdempotentRequest.ts';
import type { DomainFeature } from '../feature.ts';
import { pruneIdempotentRequests } from './idempotentRequests.ts';

export const PLATFORM: DomainFeature = {
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await IdempotentRequest.query(transaction).delete().where({ account_id: accountId });
    },
  },
  retention: { 'idempotentRequests.prune': [pruneIdempotentRequests] },
};
