import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DB_WAIT_TIMEOUT, isRejection, prepared, runStatement } from '../../lib/db.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { REFRESH_GRACE_SECONDS, REFRESH_TOKEN_DAYS } from '../../spec/limits.ts';
import { OAuthError, type Scope } from '../../spec/oauth.ts';
import { type RevokedGrant, revokeGrant } from './grants.ts';

/** What tokens are made out for, with the refresh token that belongs to it. */
export interface IssuedGrant {
  grantUuid: string;
  accountUuid: string;
  scopes: Scope[];
  refreshToken: string;
}

/** A refresh token that is yet to be stored, by its hash. */
export function generateRefreshToken(): { text: string; hash: Buffer } {
  const text = randomHex(32);
  return { text, hash: sha256(text) };
}

/** Until when a refresh token is good that was made out at a time. */
export function getRefreshTokenExpiry(at: Date): Date {
  return addMilliseconds(at, REFRESH_TOKEN_DAYS * 86_400_000);
}

/** So many rotations one token has at most: more than the processes of a client that ask at the same time. */
const ROTATIONS_MAX = 20;

/**
 * Whether a successor of the token `t` was itself used: who holds that one has had the answer, so that nobody honest
 * needs the token before it any longer.
 */
const IS_SUPERSEDED =
  'EXISTS (SELECT FROM oauth_refresh_tokens s WHERE s.parent_hash = t.token_hash AND s.used_at IS NOT NULL)';

/**
 * One statement, for all refreshes that wait at a moment: a token counts as used from its first use on, and its
 * successor is there. Whoever comes with the same one at the same time, or shortly after, gets a successor of their own,
 * until one of the rotations is used or there are too many; their number is kept in the row that all of them lock.
 */
const ROTATE_REFRESH_TOKENS = prepared(
  'rotate_refresh_tokens',
  `WITH item AS (
     SELECT * FROM unnest(cast(:tokenHashes AS bytea[]), cast(:clientIds AS text[]), cast(:scopes AS text[]),
                          cast(:newHashes AS bytea[]))
       WITH ORDINALITY AS i (token_hash, client_id, scopes, new_hash, place)
   ), used AS (
     UPDATE oauth_refresh_tokens t SET used_at = coalesce(t.used_at, :now), rotations = t.rotations + 1
       FROM item i, oauth_grants g
      WHERE t.token_hash = ANY (cast(:tokenHashes AS bytea[])) AND t.token_hash = i.token_hash
        AND t.expires_at > :now AND t.rotations < :successorsMax
        AND (t.used_at IS NULL OR (t.used_at > :graceBegan AND NOT ${IS_SUPERSEDED}))
        AND g.uuid = t.grant_uuid AND g.client_id = i.client_id AND g.revoked_at IS NULL
        AND string_to_array(i.scopes, ' ') <@ g.scopes
     RETURNING i.place, i.token_hash, i.new_hash, g.uuid, g.account_id, g.scopes
   ), renewed AS (
     INSERT INTO oauth_refresh_tokens (token_hash, grant_uuid, parent_hash, expires_at)
     SELECT new_hash, uuid, token_hash, :expiresAt FROM used
   )
   SELECT used.place, used.uuid, used.scopes, a.uuid AS account_uuid
     FROM used JOIN accounts a ON a.id = used.account_id`,
);

interface RotationItem {
  tokenHash: Buffer;
  clientId: string;
  scopes: Scope[];
  newHash: Buffer;
}

interface RotationRow {
  /** Counted from 1. */
  place: number;
  uuid: string;
  scopes: Scope[];
  account_uuid: string;
}

const rotateBatched = createBatcher<RotationItem, RotationRow | undefined>({
  maxItems: 32,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  getKey: ({ tokenHash }) => tokenHash.toString('base64'),
  // Such as two processes with the same tokens in another order.
  isItemError: isRejection,
  run: async (items) => {
    const at = now();
    const rows = await runStatement<RotationRow>(ROTATE_REFRESH_TOKENS, {
      tokenHashes: items.map(({ tokenHash }) => tokenHash),
      clientIds: items.map(({ clientId }) => clientId),
      // Arrays of arrays must have one length in SQL.
      scopes: items.map(({ scopes }) => scopes.join(' ')),
      newHashes: items.map(({ newHash }) => newHash),
      graceBegan: getGraceStart(at),
      successorsMax: ROTATIONS_MAX,
      expiresAt: getRefreshTokenExpiry(at),
      now: at,
    });
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return items.map((_, index) => byPlace.get(index + 1));
  },
});

function getGraceStart(at: Date): Date {
  return addMilliseconds(at, -REFRESH_GRACE_SECONDS * 1_000);
}

/**
 * Exchanges a refresh token for the next one.
 * @param scopes those that the new access token is to have; empty for all of the grant. The grant keeps its own.
 * @throws OAuthRefusal invalid_grant; where the token was used before, the whole grant is ended by then
 * @throws OAuthRefusal invalid_scope
 */
export async function rotateRefreshToken(tokenText: string, clientId: string, scopes: Scope[]): Promise<IssuedGrant> {
  const tokenHash = sha256(tokenText);
  const next = generateRefreshToken();
  const row = await rotateBatched({ tokenHash, clientId, scopes, newHash: next.hash });
  if (row === undefined) throw await explainRejection(tokenHash, clientId, scopes);
  return { grantUuid: row.uuid, accountUuid: row.account_uuid, scopes: row.scopes, refreshToken: next.text };
}

const FIND_REFRESH_TOKEN = prepared(
  'find_refresh_token',
  `SELECT g.uuid, g.client_id, g.scopes, g.revoked_at, t.used_at, t.rotations, ${IS_SUPERSEDED} AS is_superseded
     FROM oauth_refresh_tokens t JOIN oauth_grants g ON g.uuid = t.grant_uuid
    WHERE t.token_hash = :tokenHash`,
);

interface RefreshTokenRow {
  uuid: string;
  client_id: string;
  scopes: Scope[];
  revoked_at: Date | null;
  used_at: Date | null;
  rotations: number;
  is_superseded: boolean;
}

/**
 * Why a token was not taken. One that comes back long after it was used, or after its successor was, was copied: nothing
 * of its grant is safe.
 */
async function explainRejection(tokenHash: Buffer, clientId: string, scopes: Scope[]): Promise<OAuthError> {
  const [row] = await runStatement<RefreshTokenRow>(FIND_REFRESH_TOKEN, { tokenHash });
  if (row === undefined || row.client_id !== clientId)
    return new OAuthError('invalid_grant', 'The refresh token is unknown, or of another client.');
  if (row.is_superseded || (row.used_at !== null && row.used_at <= getGraceStart(now()))) {
    await revokeGrant(row.uuid);
    return new OAuthError('invalid_grant', 'The refresh token was used before: the application must connect again.');
  }
  if (row.revoked_at !== null) return new OAuthError('invalid_grant', 'The application was disconnected.');
  if (!scopes.every((scope) => row.scopes.includes(scope)))
    return new OAuthError('invalid_scope', `Only ${row.scopes.join(' and ')} was allowed.`);
  if (row.rotations >= ROTATIONS_MAX)
    return new OAuthError('invalid_grant', 'The refresh token has given enough others: use one of those.');
  return new OAuthError('invalid_grant', 'The refresh token has expired.');
}

/**
 * Ends the grant of a refresh token, used or not; does nothing where there is no such token.
 * @throws OAuthRefusal invalid_grant where it is another client's.
 */
export async function revokeRefreshToken(tokenText: string, clientId: string): Promise<RevokedGrant | undefined> {
  const [row] = await runStatement<RefreshTokenRow>(FIND_REFRESH_TOKEN, { tokenHash: sha256(tokenText) });
  if (row === undefined) return undefined;
  if (row.client_id !== clientId) throw new OAuthError('invalid_grant', 'The token is of another client.');
  return revokeGrant(row.uuid);
}

const PRUNE_REFRESH_TOKENS = prepared(
  'prune_refresh_tokens',
  `WITH gone AS (
     DELETE FROM oauth_refresh_tokens WHERE token_hash IN (
       SELECT token_hash FROM oauth_refresh_tokens WHERE expires_at <= :now ORDER BY expires_at LIMIT :atOnce
          FOR UPDATE SKIP LOCKED)
     RETURNING grant_uuid
   ), over AS (
     DELETE FROM oauth_grants g
      WHERE g.uuid IN (SELECT grant_uuid FROM gone)
        AND NOT EXISTS (SELECT FROM oauth_refresh_tokens t WHERE t.grant_uuid = g.uuid AND t.expires_at > :now)
   )
   SELECT grant_uuid FROM gone`,
);

const PRUNE_TOKENS_BATCH_SIZE = 1_000;

/** Forgets refresh tokens that have expired, and grants that have no other. */
export async function pruneExpiredRefreshTokens(): Promise<void> {
  for (let forgotten = PRUNE_TOKENS_BATCH_SIZE; forgotten === PRUNE_TOKENS_BATCH_SIZE; ) {
    forgotten = (await runStatement(PRUNE_REFRESH_TOKENS, { now: now(), atOnce: PRUNE_TOKENS_BATCH_SIZE })).length;
  }
}
