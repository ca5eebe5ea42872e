import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { REFRESH_TOKEN_DAYS } from '../../spec/limits.ts';
import { OAuthError, type Scope } from '../../spec/oauth.ts';
import { ACCOUNT_SUSPENDED_DETAIL } from '../accounts/credentials.ts';
import type { RequestOrigin } from '../accounts/securityEvents.ts';
import { getGraceStart, revokeGrant } from './grants.ts';
import { isLoopbackUri } from './redirectUris.ts';
import { getResourceUrl, GRANT_RESOURCE, type Resource } from './resources.ts';
import { DAY_MS } from '../../spec/durations.ts';

/** Grant for which an access token can be issued, with its new refresh token. */
export interface IssuedGrant {
  grantUuid: string;
  accountUuid: string;
  resource: Resource;
  scopes: Scope[];
  refreshToken: string;
}

/** Generates a refresh token, and the hash under which it is stored. */
export function generateRefreshToken(): { text: string; hash: Buffer } {
  const text = randomHex(32);
  return { text, hash: sha256(text) };
}

/** Returns the expiry of a refresh token that is issued at a time. */
export function getRefreshTokenExpiry(at: Date): Date {
  return addMilliseconds(at, REFRESH_TOKEN_DAYS * DAY_MS);
}

/**
 * Maximum number of rotations of one token. Higher than the number of processes that a client refreshes from at once.
 */
const ROTATIONS_MAX = 20;

/**
 * True if a successor of the token `t` was itself used. Then the client has received the response, and has no reason to
 * send the previous token again.
 */
const IS_SUPERSEDED =
  'EXISTS (SELECT FROM oauth_refresh_tokens s WHERE s.parent_hash = t.token_hash AND s.used_at IS NOT NULL)';

/**
 * Rotates a batch of refresh tokens. A token is marked as used at its first use. A client that sends it again within
 * the grace period gets another successor, until a successor is used or the maximum is reached. The count is in the row
 * of the token, which concurrent requests lock.
 */
const ROTATE_REFRESH_TOKENS = prepared(
  'rotate_refresh_tokens',
  `WITH item AS (
     SELECT * FROM unnest(cast(:tokenHashes AS bytea[]), cast(:clientIds AS text[]), cast(:scopes AS text[]),
                          cast(:resources AS text[]), cast(:newHashes AS bytea[]))
       WITH ORDINALITY AS i (token_hash, client_id, scopes, resource, new_hash, ordinal)
   ), consumed AS (
     UPDATE oauth_refresh_tokens t SET used_at = coalesce(t.used_at, :now), rotations = t.rotations + 1
       FROM item i, oauth_grants g JOIN accounts a ON a.id = g.account_id
      WHERE t.token_hash = ANY (cast(:tokenHashes AS bytea[])) AND t.token_hash = i.token_hash
        AND t.expires_at > :now AND t.rotations < :rotationsMax
        AND (t.used_at IS NULL OR (t.used_at > :graceStart AND NOT ${IS_SUPERSEDED}))
        AND g.uuid = t.grant_uuid AND g.client_id = i.client_id AND g.revoked_at IS NULL AND a.suspended_at IS NULL
        AND string_to_array(i.scopes, ' ') <@ g.scopes AND coalesce(i.resource, ${GRANT_RESOURCE}) = ${GRANT_RESOURCE}
     RETURNING i.ordinal, i.token_hash, i.new_hash, g.uuid, a.uuid AS account_uuid, g.scopes, ${GRANT_RESOURCE} AS resource
   ), renewed AS (
     INSERT INTO oauth_refresh_tokens (token_hash, grant_uuid, parent_hash, expires_at)
     SELECT new_hash, uuid, token_hash, :expiresAt FROM consumed
   )
   SELECT ordinal, uuid, scopes, account_uuid, resource FROM consumed`,
);

/** Parameters of a refresh. */
interface RefreshRequest {
  clientId: string;
  /** Scopes of the new access token; empty for all scopes of the grant, which do not change. */
  scopes: Scope[];
  /** Undefined if the client does not name it. */
  resource: Resource | undefined;
}

interface RotationItem extends RefreshRequest {
  tokenHash: Buffer;
  newHash: Buffer;
}

interface RotationRow {
  /** Position of the item in the batch, from 1. */
  ordinal: number;
  uuid: string;
  scopes: Scope[];
  resource: Resource;
  account_uuid: string;
}

const rotateBatched = createBatcher<RotationItem, RotationRow | undefined>({
  maxItems: 32,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  getKey: ({ tokenHash }) => tokenHash.toString('base64'),
  // For example a deadlock of two processes with the same tokens in another order.
  isItemError: isRejection,
  run: async (items) => {
    const at = now();
    const rows = await runStatement<RotationRow>(ROTATE_REFRESH_TOKENS, {
      tokenHashes: items.map(({ tokenHash }) => tokenHash),
      clientIds: items.map(({ clientId }) => clientId),
      // As text, because the inner arrays of an SQL array must all have the same length.
      scopes: items.map(({ scopes }) => scopes.join(' ')),
      resources: items.map(({ resource }) => resource ?? null),
      newHashes: items.map(({ newHash }) => newHash),
      graceStart: getGraceStart(at),
      rotationsMax: ROTATIONS_MAX,
      expiresAt: getRefreshTokenExpiry(at),
      now: at,
    });
    const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
    return items.map((_, index) => byOrdinal.get(index + 1));
  },
});

/**
 * Exchanges a refresh token for the next one.
 * @throws OAuthError invalid_grant; reuse of a token revokes the whole grant, except for loopback clients
 * @throws OAuthError invalid_scope, invalid_target
 */
export async function rotateRefreshToken(tokenText: string, request: RefreshRequest): Promise<IssuedGrant> {
  const tokenHash = sha256(tokenText);
  const next = generateRefreshToken();
  const row = await rotateBatched({ ...request, tokenHash, newHash: next.hash });
  if (row === undefined) throw await explainRejection(tokenHash, request);
  const { uuid: grantUuid, account_uuid: accountUuid, resource, scopes } = row;
  return { grantUuid, accountUuid, resource, scopes, refreshToken: next.text };
}

const FIND_REFRESH_TOKEN = prepared(
  'find_refresh_token',
  `SELECT g.uuid, g.client_id, g.redirect_uri, g.scopes, ${GRANT_RESOURCE} AS resource, g.revoked_at, a.suspended_at, t.used_at, t.rotations,
          ${IS_SUPERSEDED} AS is_superseded
     FROM oauth_refresh_tokens t
     JOIN oauth_grants g ON g.uuid = t.grant_uuid
     JOIN accounts a ON a.id = g.account_id
    WHERE t.token_hash = :tokenHash`,
);

interface RefreshTokenRow {
  uuid: string;
  client_id: string;
  redirect_uri: string;
  scopes: Scope[];
  resource: Resource;
  revoked_at: Date | null;
  suspended_at: Date | null;
  used_at: Date | null;
  rotations: number;
  is_superseded: boolean;
}

/**
 * Determines why a token was rejected. A token that is used again after the grace period, or after its successor was
 * used, may have been stolen: its grant is revoked. Programs on the machine of their user keep the grant: several
 * processes of one program share its tokens, and each sends old copies.
 */
async function explainRejection(
  tokenHash: Buffer,
  { clientId, scopes, resource }: RefreshRequest,
): Promise<OAuthError> {
  const [row] = await runStatement<RefreshTokenRow>(FIND_REFRESH_TOKEN, { tokenHash });
  if (row === undefined || row.client_id !== clientId)
    return new OAuthError('invalid_grant', 'The refresh token is unknown or belongs to another client.');
  if (row.is_superseded || (row.used_at !== null && row.used_at <= getGraceStart(now()))) {
    if (!isLoopbackUri(row.redirect_uri)) await revokeGrant(row.uuid, 'token_reuse');
    return new OAuthError('invalid_grant', 'The refresh token was used before: use the newest, or connect again.');
  }
  if (row.revoked_at !== null) return new OAuthError('invalid_grant', 'The application was disconnected.');
  if (row.suspended_at !== null) return new OAuthError('invalid_grant', ACCOUNT_SUSPENDED_DETAIL);
  if (!scopes.every((scope) => row.scopes.includes(scope)))
    return new OAuthError('invalid_scope', `The grant has only the scope ${row.scopes.join(' ')}.`);
  if (row.resource !== (resource ?? row.resource))
    return new OAuthError(
      'invalid_target',
      `The grant is for ${getResourceUrl(row.resource)} and not for the resource of this request.`,
    );
  if (row.rotations >= ROTATIONS_MAX)
    return new OAuthError('invalid_grant', 'The refresh token was rotated too often: use one of its successors.');
  return new OAuthError('invalid_grant', 'The refresh token has expired.');
}

/**
 * Revokes the grant of a refresh token, used or not. Does nothing for an unknown token.
 * @throws OAuthError invalid_grant if the token belongs to another client.
 */
export async function revokeRefreshToken(tokenText: string, clientId: string, origin?: RequestOrigin): Promise<void> {
  const [row] = await runStatement<RefreshTokenRow>(FIND_REFRESH_TOKEN, { tokenHash: sha256(tokenText) });
  if (row === undefined) return;
  if (row.client_id !== clientId) throw new OAuthError('invalid_grant', 'The token belongs to another client.');
  await revokeGrant(row.uuid, 'application', origin);
}
