import { DAY_MS } from '../../spec/durations.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { SecurityEvent } from '../../tables/SecurityEvent.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { ACCOUNT_INVARIANTS } from './invariants.ts';
import { SECURITY_EVENT_RETENTION_DAYS } from './securityEvents.ts';

export const ACCOUNTS: DomainFeature = {
  invariants: ACCOUNT_INVARIANTS,
  exportLists: [
    listTable('api_keys', 'number', [
      'uuid',
      'number',
      'member_number',
      'name',
      'prefix',
      'last_used_at',
      'revoked_at',
      'created_at',
      'scopes',
      'expires_at',
      'allowed_models',
      'allowed_ips',
    ]),
    listTable('security_events', 'id', ['event', 'member_number', 'network', 'user_agent', 'details', 'created_at']),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await SecurityEvent.query(transaction).delete().where({ account_id: accountId });
      await ApiKey.query(transaction).patch({ name: 'erased', allowed_ips: null }).where({ account_id: accountId });
    },
  },
  retention: [
    { table: 'security_events', key: 'id', since: 'created_at', afterMs: SECURITY_EVENT_RETENTION_DAYS * DAY_MS },
  ],
};
