import type { ExportList } from '../exportList.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { pruneExpiredCodes } from './authorizationCodes.ts';
import { pruneUnusedClients } from './clients.ts';
import { pruneExpiredRefreshTokens } from './refreshTokens.ts';
import { pruneRetiredKeys } from './signingKeys.ts';

const GRANTS = listTable('oauth_grants', 'uuid', [
  'uuid',
  'client_id',
  'scopes',
  'resource',
  'redirect_uri',
  'created_at',
  'connected_at',
  'last_used_at',
  'revoked_at',
]);

/** Lists applications with their names. */
const APPLICATIONS: ExportList = {
  name: 'applications',
  select: (accountId, after) =>
    GRANTS.select(accountId, after)
      .join('oauth_clients', 'oauth_clients.client_id', 'oauth_grants.client_id')
      .select({ application: 'oauth_clients.name' }),
};

export const OAUTH: DomainFeature = {
  exportLists: [APPLICATIONS],
  retention: {
    'oauth.prune': [pruneExpiredCodes, pruneExpiredRefreshTokens, pruneUnusedClients, pruneRetiredKeys],
  },
};
