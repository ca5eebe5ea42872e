import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DB_WAIT_TIMEOUT, isRejection, prepared, runStatement } from '../../lib/db.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { AUTHORIZATION_CODE_SECONDS, USED_CODE_RETENTION_MS } from '../../spec/limits.ts';
import { OAuthError, type Scope } from '../../spec/oauth.ts';
import { resourceUrl } from './accessTokens.ts';
import { type IssuedGrant, generateRefreshToken, getRefreshTokenExpiry } from './refreshTokens.ts';

/** What a person has just allowed. */
export interface ApprovedRequest {
  accountId: number;
  clientId: string;
  scopes: Scope[];
  redirectUri: string;
  /** The SHA-256 of the client's verifier, in base64url (RFC 7636). */
  codeChallenge: string;
}

const ISSUE_CODE = prepared(
  'issue_authorization_code',
  `WITH client AS (
     UPDATE oauth_clients SET last_used_at = :now WHERE client_id = :clientId
     RETURNING client_id
   ), granted AS (
     INSERT INTO oauth_grants (uuid, account_id, client_id, scopes, resource, redirect_uri, created_at)
     SELECT :uuid, :accountId, client_id, :scopes, :resource, :redirectUri, :now FROM client
     RETURNING uuid
   )
   INSERT INTO oauth_codes (code_hash, grant_uuid, redirect_uri, code_challenge, expires_at)
   SELECT :codeHash, uuid, :redirectUri, :codeChallenge, :expiresAt FROM granted
   RETURNING grant_uuid`,
);

/**
 * Writes an approval down.
 * @returns the authorization code, of which only the hash is stored.
 * @throws OAuthRefusal invalid_client where the client was forgotten while the person made up their mind
 */
export async function issueCode({ codeChallenge, ...request }: ApprovedRequest): Promise<string> {
  const code = randomHex(32);
  const at = now();
  const written = await runStatement(ISSUE_CODE, {
    ...request,
    codeChallenge,
    uuid: uuidv7(),
    resource: resourceUrl(),
    codeHash: sha256(code),
    expiresAt: addMilliseconds(at, AUTHORIZATION_CODE_SECONDS * 1_000),
    now: at,
  });
  if (written.length === 0)
    throw new OAuthError('invalid_client', 'The application is no longer registered here: have it register again.');
  return code;
}

/** What comes with a code when it is exchanged. */
export interface CodeExchange {
  code: string;
  clientId: string;
  /** The challenge that the client's verifier gives. */
  codeChallenge: string;
  /** undefined where the client does not say it again, as OAuth 2.1 allows. */
  redirectUri: string | undefined;
}

/**
 * One statement, for all exchanges that wait at a moment: a code is used up, whatever comes of it, and where all fits
 * the first refresh token is there, too.
 */
const EXCHANGE_CODES = prepared(
  'exchange_codes',
  `WITH item AS (
     SELECT * FROM unnest(cast(:codeHashes AS bytea[]), cast(:clientIds AS text[]), cast(:codeChallenges AS text[]),
                          cast(:redirectUris AS text[]), cast(:tokenHashes AS bytea[]))
       WITH ORDINALITY AS i (code_hash, client_id, code_challenge, redirect_uri, token_hash, place)
   ), used AS (
     UPDATE oauth_codes c SET used_at = :now
       FROM item i, oauth_grants g
      WHERE c.code_hash = ANY (cast(:codeHashes AS bytea[])) AND c.code_hash = i.code_hash AND c.used_at IS NULL
        AND g.uuid = c.grant_uuid AND g.client_id = i.client_id
     RETURNING i.place, i.token_hash, c.grant_uuid, c.redirect_uri, c.code_challenge, c.expires_at,
               c.expires_at > :now AND c.code_challenge = i.code_challenge
                 AND c.redirect_uri = coalesce(i.redirect_uri, c.redirect_uri) AS fits
   ), connected AS (
     UPDATE oauth_grants g SET connected_at = :now, last_used_at = :now
       FROM used, accounts a
      WHERE used.fits AND g.uuid = used.grant_uuid AND g.revoked_at IS NULL AND a.id = g.account_id
     RETURNING g.uuid, g.scopes, a.uuid AS account_uuid, used.token_hash
   ), refreshable AS (
     INSERT INTO oauth_refresh_tokens (token_hash, grant_uuid, expires_at)
     SELECT token_hash, uuid, :tokenExpiresAt FROM connected
   )
   SELECT used.place, used.code_challenge, used.redirect_uri, used.expires_at, connected.uuid, connected.scopes,
          connected.account_uuid
     FROM used LEFT JOIN connected ON connected.uuid = used.grant_uuid`,
);

interface CodeExchangeRow {
  /** Counted from 1. */
  place: number;
  code_challenge: string;
  redirect_uri: string;
  expires_at: Date;
  uuid: string | null;
  scopes: Scope[];
  account_uuid: string;
}

type CodeExchangeItem = Omit<CodeExchange, 'code'> & { codeHash: Buffer; tokenHash: Buffer };

const exchangeBatched = createBatcher<CodeExchangeItem, CodeExchangeRow | undefined>({
  maxItems: 32,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  getKey: ({ codeHash }) => codeHash.toString('base64'),
  // Such as two processes with the same codes in another order.
  isItemError: isRejection,
  run: async (items) => {
    const at = now();
    const rows = await runStatement<CodeExchangeRow>(EXCHANGE_CODES, {
      codeHashes: items.map(({ codeHash }) => codeHash),
      clientIds: items.map(({ clientId }) => clientId),
      codeChallenges: items.map(({ codeChallenge }) => codeChallenge),
      redirectUris: items.map(({ redirectUri }) => redirectUri ?? null),
      tokenHashes: items.map(({ tokenHash }) => tokenHash),
      tokenExpiresAt: getRefreshTokenExpiry(at),
      now: at,
    });
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return items.map((_, index) => byPlace.get(index + 1));
  },
});

export interface ExchangedCode extends IssuedGrant {
  codeChallenge: string;
  expiresAt: Date;
}

/**
 * Exchanges a code, which only one of any number of simultaneous requests can. One that was used before ends all
 * that came of it: somebody has got hold of it who should not have (RFC 6749, 4.1.2).
 * @throws OAuthRefusal invalid_grant
 */
export async function exchangeCode({
  code,
  clientId,
  codeChallenge,
  redirectUri,
}: CodeExchange): Promise<ExchangedCode> {
  const codeHash = sha256(code);
  const token = generateRefreshToken();
  const row = await exchangeBatched({ codeHash, clientId, codeChallenge, redirectUri, tokenHash: token.hash });
  if (row === undefined) {
    await runStatement(REVOKE_REPLAYED, { codeHash, clientId, now: now() });
    throw new OAuthError('invalid_grant', 'The code is unknown, was used before, or is of another client.');
  }
  if (row.uuid === null) throw new OAuthError('invalid_grant', describeExchangeError(row, codeChallenge, redirectUri));
  return {
    grantUuid: row.uuid,
    accountUuid: row.account_uuid,
    scopes: row.scopes,
    refreshToken: token.text,
    codeChallenge: row.code_challenge,
    expiresAt: row.expires_at,
  };
}

function describeExchangeError(row: CodeExchangeRow, codeChallenge: string, redirectUri: string | undefined): string {
  if (row.expires_at <= now()) return `The code has expired: it is good for ${AUTHORIZATION_CODE_SECONDS} seconds.`;
  if (row.code_challenge !== codeChallenge)
    return 'code_verifier does not fit the code_challenge of the authorization.';
  if (row.redirect_uri !== (redirectUri ?? row.redirect_uri))
    return 'redirect_uri is not the one of the authorization.';
  return 'The application was disconnected in the meantime.';
}

const REVOKE_REPLAYED = prepared(
  'revoke_replayed_code',
  `UPDATE oauth_grants g SET revoked_at = :now
     FROM oauth_codes c
    WHERE c.code_hash = :codeHash AND c.used_at IS NOT NULL
      AND g.uuid = c.grant_uuid AND g.client_id = :clientId AND g.revoked_at IS NULL`,
);

const PRUNE_CODES = prepared(
  'prune_oauth_codes',
  `WITH gone AS (
     DELETE FROM oauth_codes WHERE code_hash IN (
       SELECT code_hash FROM oauth_codes WHERE expires_at <= :before ORDER BY expires_at LIMIT :atOnce
          FOR UPDATE SKIP LOCKED)
     RETURNING grant_uuid
   ), unused AS (
     DELETE FROM oauth_grants g USING gone WHERE g.uuid = gone.grant_uuid AND g.connected_at IS NULL
   )
   SELECT grant_uuid FROM gone`,
);

const PRUNE_CODES_BATCH_SIZE = 1_000;

/** Forgets codes that are long over, and grants whose code nobody came for. */
export async function pruneExpiredCodes(): Promise<void> {
  const before = addMilliseconds(now(), -USED_CODE_RETENTION_MS);
  for (let forgotten = PRUNE_CODES_BATCH_SIZE; forgotten === PRUNE_CODES_BATCH_SIZE; ) {
    forgotten = (await runStatement(PRUNE_CODES, { before, atOnce: PRUNE_CODES_BATCH_SIZE })).length;
  }
}
