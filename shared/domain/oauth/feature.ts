import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import {
  INACTIVE_CLIENT_RETENTION_MS,
  UNAPPROVED_CLIENT_RETENTION_MS,
  UNAPPROVED_CLIENTS_MAX,
} from '../../spec/limits.ts';
import type { ExportList } from '../exportList.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { RETIRED_KEY_PUBLISH_MS } from './signingKeys.ts';

const GRANTS = listTable('oauth_grants', 'uuid', [
  'uuid',
  'member_number',
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

const HAS_NO_GRANT = 'NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = oauth_clients.client_id)';

/**
 * Clients that may be deleted while they are too many: not those whose consent page was opened within the last hour.
 */
const IS_UNAPPROVED = `last_used_at IS NULL
          AND (approval_requested_at IS NULL OR approval_requested_at <= cast(:now AS timestamptz) - interval '1 hour')`;

export const OAUTH: DomainFeature = {
  exportLists: [APPLICATIONS],
  retention: [
    // Used codes are kept for a day, so that a replay is detected. A grant whose code was never exchanged goes with it.
    {
      table: 'oauth_codes',
      key: 'code_hash',
      since: 'expires_at',
      afterMs: DAY_MS,
      also: 'DELETE FROM oauth_grants g USING changed WHERE g.uuid = changed.grant_uuid AND g.connected_at IS NULL',
    },
    // A grant goes with the last of its tokens.
    {
      table: 'oauth_refresh_tokens',
      key: 'token_hash',
      since: 'expires_at',
      afterMs: 0,
      also: `DELETE FROM oauth_grants g
              WHERE g.uuid IN (SELECT grant_uuid FROM changed)
                AND NOT EXISTS (SELECT FROM oauth_refresh_tokens t WHERE t.grant_uuid = g.uuid AND t.expires_at > :now)`,
    },
    {
      name: 'unapproved_oauth_clients',
      table: 'oauth_clients',
      key: 'client_id',
      since: 'created_at',
      afterMs: UNAPPROVED_CLIENT_RETENTION_MS,
      where: `last_used_at IS NULL AND ${HAS_NO_GRANT}`,
    },
    {
      table: 'oauth_clients',
      key: 'client_id',
      since: 'last_used_at',
      afterMs: INACTIVE_CLIENT_RETENTION_MS,
      where: HAS_NO_GRANT,
    },
    // Only the newest unapproved ones stay, so that a flood of registrations cannot fill the disk.
    {
      name: 'excess_oauth_clients',
      table: 'oauth_clients',
      key: 'client_id',
      since: 'created_at',
      afterMs: 5 * MINUTE_MS,
      where: `${IS_UNAPPROVED} AND ${HAS_NO_GRANT}
          AND created_at < (SELECT created_at FROM oauth_clients WHERE ${IS_UNAPPROVED} AND created_at <= :before
                             ORDER BY created_at DESC OFFSET ${UNAPPROVED_CLIENTS_MAX - 1} LIMIT 1)`,
    },
    // From the time at which the next key signs, its last token is valid for some time.
    {
      table: 'oauth_signing_keys',
      key: 'number',
      since: '(SELECT signs_from FROM oauth_signing_keys next WHERE next.number = oauth_signing_keys.number + 1)',
      afterMs: RETIRED_KEY_PUBLISH_MS,
    },
  ],
};
