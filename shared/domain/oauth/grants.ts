import type { Knex } from 'knex';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { createLastUsedRecorder } from '../../lib/database/lastUsed.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { sha256 } from '../../lib/secrets.ts';
import { API_KEY_LAST_USED_INTERVAL_MS, REFRESH_GRACE_SECONDS } from '../../spec/limits.ts';
import type { Scope } from '../../spec/oauth.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import type { Caller, CallerMember } from '../accounts/caller.ts';
import { accountSuspendedError } from '../accounts/credentials.ts';
import {
  INSERT_SECURITY_EVENTS,
  logSecurityEvent,
  type RequestOrigin,
  SERVICE_ORIGIN,
} from '../accounts/securityEvents.ts';
import { getRedirectHost } from './redirectUris.ts';
import { GRANT_RESOURCE } from './resources.ts';

/** An application that a user has connected, once or several times. */
export interface ConnectedApplication {
  /** UUID of one of its grants, which identifies it to {@link disconnectApplication}. */
  uuid: string;
  clientId: string;
  clientName: string;
  /** Hosts of the redirect URIs of its grants, which distinguish applications of the same name. */
  clientHosts: string[];
  scopes: Scope[];
  /** True if one of its grants is for the REST interface. */
  usesRest: boolean;
  connectedAt: Date;
  lastUsedAt: Date | null;
}

/** Returns the earliest first use at which a refresh token is still accepted at a time. */
export function getGraceStart(at: Date): Date {
  return addMilliseconds(at, -REFRESH_GRACE_SECONDS * 1_000);
}

const FIND_GRANT = prepared(
  'find_grant_of_code_or_token',
  `SELECT grant_uuid FROM oauth_refresh_tokens
    WHERE token_hash = :hash AND expires_at > :now AND (used_at IS NULL OR used_at > :graceStart)
   UNION ALL SELECT grant_uuid FROM oauth_codes WHERE code_hash = :hash AND used_at IS NULL`,
);

/** Returns the UUID of the grant of an authorization code or a refresh token, unless it was used before. */
export async function findTokenGrant(codeOrToken: string): Promise<string | null> {
  const at = now();
  const bindings = { hash: sha256(codeOrToken), now: at, graceStart: getGraceStart(at) };
  const [row] = await runStatement<{ grant_uuid: string }>(FIND_GRANT, bindings);
  return row?.grant_uuid ?? null;
}

const LIST_CONNECTED_APPLICATIONS = prepared(
  'list_connected_applications',
  `SELECT (array_agg(g.uuid ORDER BY g.created_at DESC))[1] AS uuid, c.name, g.client_id,
          array_agg(DISTINCT g.redirect_uri) AS redirect_uris,
          array_agg(DISTINCT s.scope ORDER BY s.scope) AS scopes, bool_or(${GRANT_RESOURCE} = 'api') AS uses_rest,
          min(g.connected_at) AS connected_at, max(g.last_used_at) AS last_used_at
     FROM oauth_grants g
     JOIN oauth_clients c ON c.client_id = g.client_id
    CROSS JOIN LATERAL unnest(g.scopes) AS s (scope)
    WHERE g.account_id = :accountId AND g.connected_at IS NOT NULL AND g.revoked_at IS NULL
      AND EXISTS (SELECT FROM oauth_refresh_tokens t WHERE t.grant_uuid = g.uuid AND t.expires_at > :now)
    GROUP BY g.client_id, c.name
    ORDER BY min(g.connected_at) DESC`,
);

interface ConnectedApplicationRow {
  uuid: string;
  name: string;
  redirect_uris: string[];
  client_id: string;
  scopes: Scope[];
  uses_rest: boolean;
  connected_at: Date;
  last_used_at: Date | null;
}

/** Lists the applications with access to an account, newest first. */
export async function listConnectedApplications(accountId: number): Promise<ConnectedApplication[]> {
  const rows = await runStatement<ConnectedApplicationRow>(LIST_CONNECTED_APPLICATIONS, { accountId, now: now() });
  return rows.map((row) => ({
    uuid: row.uuid,
    clientId: row.client_id,
    clientName: row.name,
    clientHosts: [...new Set(row.redirect_uris.map(getRedirectHost))],
    scopes: row.scopes,
    usesRest: row.uses_rest,
    connectedAt: row.connected_at,
    lastUsedAt: row.last_used_at,
  }));
}

/** Common table expression that records the revocation of the grants in `revoked`, once for each application. */
export const LOG_REVOKED_GRANTS = `
   logged AS (
     ${INSERT_SECURITY_EVENTS}
     SELECT r.account_id, cast(:memberNumber AS integer), 'application_disconnected', cast(:network AS text), cast(:userAgent AS text),
            jsonb_build_object('application', c.name, 'reason', cast(:reason AS text)), cast(:now AS timestamptz)
       FROM (SELECT DISTINCT account_id, client_id FROM revoked) r JOIN oauth_clients c ON c.client_id = r.client_id
   )`;

const DISCONNECT_APPLICATION = prepared(
  'disconnect_application',
  `WITH revoked AS (
     UPDATE oauth_grants SET revoked_at = :now
      WHERE account_id = :accountId AND revoked_at IS NULL
        AND client_id = (SELECT client_id FROM oauth_grants WHERE uuid = :uuid AND account_id = :accountId)
     RETURNING uuid, account_id, client_id
   ), ${LOG_REVOKED_GRANTS}
   SELECT uuid FROM revoked`,
);

/**
 * Revokes all grants of an application to an account, effective immediately.
 * @returns false if there was no active grant.
 */
export async function disconnectApplication(
  accountId: number,
  uuid: string,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<boolean> {
  const bindings = { accountId, uuid, now: now(), reason: 'owner', ...origin };
  const isEnded = (await runStatement(DISCONNECT_APPLICATION, bindings)).length > 0;
  if (isEnded)
    void logSecurityEvent({ accountId, event: 'application_disconnected', origin, subject: { grant: uuid } });
  return isEnded;
}

/**
 * Revokes the grants of an account, or of one of its members, that were created from a time on.
 * @returns the number of revoked grants.
 */
export async function revokeGrants(
  granted: { account_id: number; member_number?: number },
  transaction: Knex,
  since: Date,
): Promise<number> {
  return OAuthGrant.query(transaction)
    .where(granted)
    .whereNull('revoked_at')
    .where('created_at', '>=', since)
    .patch({ revoked_at: now() });
}

const REVOKE_GRANT = prepared(
  'revoke_grant',
  `WITH revoked AS (
     UPDATE oauth_grants SET revoked_at = :now WHERE uuid = :uuid AND revoked_at IS NULL
     RETURNING account_id, client_id
   ), ${LOG_REVOKED_GRANTS}
   SELECT account_id, client_id FROM revoked`,
);

/**
 * Revokes a grant with all its tokens, effective immediately.
 * @param reason who ended it: the application itself, or the service because a token was used twice.
 * @returns false if it was already revoked.
 */
export async function revokeGrant(
  uuid: string,
  reason: 'application' | 'token_reuse',
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<boolean> {
  const bindings = { uuid, reason, now: now(), ...origin };
  const [row] = await runStatement<Pick<OAuthGrant, 'account_id' | 'client_id'>>(REVOKE_GRANT, bindings);
  if (row === undefined) return false;
  const subject = { grant: uuid, client: row.client_id };
  void logSecurityEvent({ accountId: row.account_id, event: 'application_disconnected', origin, subject });
  return true;
}

const FIND_ACTIVE_GRANTS = prepared(
  'find_live_grants',
  `SELECT g.uuid, g.account_id, m.number, m.role, a.suspended_at IS NOT NULL AS is_suspended
     FROM oauth_grants g JOIN accounts a ON a.id = g.account_id
     JOIN members m ON m.account_id = g.account_id AND m.number = g.member_number
    WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND g.revoked_at IS NULL`,
);

interface ActiveGrantRow extends CallerMember {
  uuid: string;
  account_id: number;
  is_suspended: boolean;
}

const findActiveGrant = createBatcher<string, ActiveGrantRow | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  run: async (uuids) => {
    const rows = await runStatement<ActiveGrantRow>(FIND_ACTIVE_GRANTS, { uuids });
    const grants = new Map(rows.map((row) => [row.uuid, row]));
    return uuids.map((uuid) => grants.get(uuid));
  },
});

/**
 * Finds the account of an active grant and the member who approved it. Not cached, so that a revocation is effective
 * immediately.
 * @throws ServiceError account_suspended
 */
export async function findGrantOwner(
  uuid: string,
): Promise<Required<Pick<Caller, 'accountId' | 'member'>> | undefined> {
  const grant = await findActiveGrant(uuid);
  if (grant === undefined) return undefined;
  if (grant.is_suspended) throw accountSuspendedError();
  const { account_id: accountId, number, role } = grant;
  return { accountId, member: { number, role } };
}

/** Records the last use of grants, at most once in 60 seconds for each grant across all processes. */
export const recordGrantUse = createLastUsedRecorder({
  name: 'record_grants_last_used',
  table: 'oauth_grants',
  key: 'uuid',
  type: 'uuid',
  intervalMs: API_KEY_LAST_USED_INTERVAL_MS,
});
