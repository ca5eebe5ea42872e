import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import type { CreditLimit } from '../../presenters/spendingLimit.ts';
import { AUTHORIZATION_CODE_SECONDS } from '../../spec/limits.ts';
import { OAuthError, type Scope } from '../../spec/oauth.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import {
  INSERT_SECURITY_EVENTS,
  logSecurityEvent,
  type RequestOrigin,
  SERVICE_ORIGIN,
} from '../accounts/securityEvents.ts';
import { storeApprovedLimit } from './applicationLimits.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import { LOG_REVOKED_GRANTS } from './grants.ts';
import { getRedirectHost } from './redirectUris.ts';
import { generateRefreshToken, getRefreshTokenExpiry, type IssuedGrant } from './refreshTokens.ts';
import { getResourceUrl, GRANT_RESOURCE, type Resource } from './resources.ts';

/** An authorization request that the user approved. */
export interface ApprovedRequest {
  accountId: number;
  clientId: string;
  resource: Resource;
  scopes: Scope[];
  redirectUri: string;
  /** SHA-256 of the client's verifier in base64url (RFC 7636). */
  codeChallenge: string;
  /** Spending limit that the user chose; null for none. Undefined: not asked, so that the default applies. */
  limit?: CreditLimit | null | undefined;
}

const ISSUE_CODE = prepared(
  'issue_authorization_code',
  `WITH owner AS MATERIALIZED (
     SELECT id FROM accounts WHERE id = :accountId AND deletion_requested_at IS NULL
   ), client AS (
     UPDATE oauth_clients SET last_used_at = :now FROM owner WHERE client_id = :clientId
     RETURNING client_id, name, owner.id AS account_id
   ), logged AS (
     ${INSERT_SECURITY_EVENTS}
     SELECT account_id, cast(:memberNumber AS integer), 'application_connected', cast(:network AS text), cast(:userAgent AS text),
            jsonb_build_object('application', name, 'scopes', array_to_string(cast(:scopes AS text[]), ' ')),
            cast(:now AS timestamptz)
       FROM client
   ), granted AS (
     INSERT INTO oauth_grants (uuid, account_id, member_number, client_id, scopes, resource, redirect_uri, created_at)
     SELECT :uuid, :accountId, cast(:memberNumber AS integer), client_id, :scopes, :resource, :redirectUri, :now FROM client
     RETURNING uuid
   ), event AS (
     INSERT INTO outbox_events (account_id, type, subject, details, created_at)
     SELECT client.account_id, 'application.connected', cast(granted.uuid AS text),
            jsonb_build_object('application', client.name, 'host', cast(:host AS text), 'network', cast(:network AS text),
                               'user_agent', cast(:userAgent AS text), 'scopes', array_to_string(cast(:scopes AS text[]), ' ')),
            cast(:now AS timestamptz)
       FROM client, granted WHERE cast(:sendsEmail AS boolean)
   )
   INSERT INTO oauth_codes (code_hash, grant_uuid, redirect_uri, code_challenge, expires_at)
   SELECT :codeHash, uuid, :redirectUri, :codeChallenge, :expiresAt FROM granted
   RETURNING grant_uuid`,
);

/**
 * Stores an approval as a grant with an authorization code, and the spending limit of an application that may spend.
 * @param caller whose session approved.
 * @returns the code; only its hash is stored.
 * @throws OAuthError invalid_client if the client was deleted while the consent page was open, or the account is being
 * deleted; ServiceError invalid_api_key if the session ended meanwhile; insufficient_scope if the limit would be raised
 * or removed and another member who connected the application has more rights
 */
export async function issueCode(
  { limit, ...request }: ApprovedRequest,
  { origin = SERVICE_ORIGIN, caller }: { origin?: RequestOrigin; caller: Caller },
): Promise<string> {
  const { accountId, clientId, scopes } = request;
  const code = await withAccountOfCaller(caller, async (transaction) => {
    if (scopes.includes('svc:write')) await storeApprovedLimit(transaction, caller, { clientId, limit }, origin);
    return insertCode(request, origin, transaction);
  });
  void logSecurityEvent({ accountId, event: 'application_connected', origin, subject: { client: clientId, scopes } });
  return code;
}

async function insertCode(
  { codeChallenge, ...request }: Omit<ApprovedRequest, 'limit'>,
  origin: RequestOrigin,
  transaction: Transaction,
): Promise<string> {
  const code = randomHex(32);
  const at = now();
  const bindings = {
    ...request,
    ...origin,
    codeChallenge,
    uuid: uuidv7(),
    resource: getResourceUrl(request.resource),
    host: getRedirectHost(request.redirectUri),
    sendsEmail: isEmailEnabled(),
    codeHash: sha256(code),
    expiresAt: addMilliseconds(at, AUTHORIZATION_CODE_SECONDS * 1_000),
    now: at,
  };
  const written = await runStatement(ISSUE_CODE, bindings, transaction);
  if (written.length === 0)
    throw new OAuthError(
      'invalid_client',
      'The application is no longer registered here and must register again, or the account is being deleted.',
    );
  return code;
}

/** Parameters of a code exchange. */
export interface CodeExchange {
  code: string;
  clientId: string;
  /** Challenge computed from the client's verifier. */
  codeChallenge: string;
  /** Undefined if the client does not repeat it, as OAuth 2.1 allows. */
  redirectUri: string | undefined;
  /** Undefined if the client does not name it again. */
  resource: Resource | undefined;
}

/**
 * Exchanges a batch of codes. A code is consumed even if the exchange fails. Without a problem the grant is connected
 * and its first refresh token is stored. A redirect URI or a resource that the client does not name is not compared.
 */
const EXCHANGE_CODES = prepared(
  'exchange_codes',
  `WITH item AS (
     SELECT * FROM unnest(cast(:codeHashes AS bytea[]), cast(:clientIds AS text[]), cast(:codeChallenges AS text[]),
                          cast(:redirectUris AS text[]), cast(:resources AS text[]), cast(:tokenHashes AS bytea[]))
       WITH ORDINALITY AS i (code_hash, client_id, code_challenge, redirect_uri, resource, token_hash, ordinal)
   ), consumed AS (
     UPDATE oauth_codes c SET used_at = :now
       FROM item i, oauth_grants g
      WHERE c.code_hash = ANY (cast(:codeHashes AS bytea[])) AND c.code_hash = i.code_hash AND c.used_at IS NULL
        AND g.uuid = c.grant_uuid AND g.client_id = i.client_id
     RETURNING i.ordinal, i.token_hash, c.grant_uuid, c.code_challenge, c.expires_at, ${GRANT_RESOURCE} AS resource,
               CASE WHEN c.expires_at <= :now THEN 'expired'
                    WHEN c.code_challenge IS DISTINCT FROM i.code_challenge THEN 'verifier'
                    WHEN c.redirect_uri <> i.redirect_uri THEN 'redirect_uri'
                    WHEN i.resource <> ${GRANT_RESOURCE} THEN 'resource' END AS problem
   ), connected_grants AS (
     UPDATE oauth_grants g SET connected_at = :now, last_used_at = :now
       FROM consumed, accounts a
      WHERE consumed.problem IS NULL AND g.uuid = consumed.grant_uuid AND g.revoked_at IS NULL AND a.id = g.account_id
        AND a.suspended_at IS NULL
     RETURNING g.uuid, g.scopes, a.uuid AS account_uuid, consumed.token_hash
   ), refresh_token AS (
     INSERT INTO oauth_refresh_tokens (token_hash, grant_uuid, expires_at)
     SELECT token_hash, uuid, :tokenExpiresAt FROM connected_grants
   )
   SELECT consumed.ordinal, consumed.code_challenge, consumed.expires_at, consumed.resource, consumed.problem,
          connected_grants.uuid, connected_grants.scopes, connected_grants.account_uuid
     FROM consumed LEFT JOIN connected_grants ON connected_grants.uuid = consumed.grant_uuid`,
);

const INVALID_GRANT_PROBLEMS = {
  expired: `The code has expired: it is valid for ${AUTHORIZATION_CODE_SECONDS} seconds.`,
  verifier: 'code_verifier does not match the code_challenge of the authorization request.',
  redirect_uri: 'redirect_uri does not match the authorization request.',
  ended: 'The application was disconnected or the account suspended before the exchange.',
};

interface CodeExchangeRow {
  /** Position of the item in the batch, from 1. */
  ordinal: number;
  code_challenge: string;
  expires_at: Date;
  resource: Resource;
  problem: keyof typeof INVALID_GRANT_PROBLEMS | 'resource' | null;
  /** Null if there was a problem, or the grant has ended. */
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
  // For example a deadlock of two processes with the same codes in another order.
  isItemError: isRejection,
  run: async (items) => {
    const at = now();
    const rows = await runStatement<CodeExchangeRow>(EXCHANGE_CODES, {
      codeHashes: items.map(({ codeHash }) => codeHash),
      clientIds: items.map(({ clientId }) => clientId),
      codeChallenges: items.map(({ codeChallenge }) => codeChallenge),
      redirectUris: items.map(({ redirectUri }) => redirectUri ?? null),
      resources: items.map(({ resource }) => resource ?? null),
      tokenHashes: items.map(({ tokenHash }) => tokenHash),
      tokenExpiresAt: getRefreshTokenExpiry(at),
      now: at,
    });
    const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
    return items.map((_, index) => byOrdinal.get(index + 1));
  },
});

export interface ExchangedCode extends IssuedGrant {
  codeChallenge: string;
  expiresAt: Date;
}

/**
 * Exchanges a code for tokens. Of simultaneous requests only one succeeds. A code that was used before revokes its
 * grant, because it may have been stolen (RFC 6749, 4.1.2).
 * @throws OAuthError invalid_grant, invalid_target
 */
export async function exchangeCode({ code, ...exchange }: CodeExchange): Promise<ExchangedCode> {
  const { clientId } = exchange;
  const codeHash = sha256(code);
  const token = generateRefreshToken();
  const row = await exchangeBatched({ ...exchange, codeHash, tokenHash: token.hash });
  if (row === undefined) {
    await runStatement(REVOKE_REPLAYED, { codeHash, clientId, now: now(), reason: 'token_reuse', ...SERVICE_ORIGIN });
    throw new OAuthError('invalid_grant', 'The code is unknown, was used before, or belongs to another client.');
  }
  if (row.uuid === null) throw buildExchangeError(row);
  return {
    grantUuid: row.uuid,
    accountUuid: row.account_uuid,
    resource: row.resource,
    scopes: row.scopes,
    refreshToken: token.text,
    codeChallenge: row.code_challenge,
    expiresAt: row.expires_at,
  };
}

function buildExchangeError({ problem, resource }: CodeExchangeRow): OAuthError {
  if (problem !== 'resource') return new OAuthError('invalid_grant', INVALID_GRANT_PROBLEMS[problem ?? 'ended']);
  const description = `The code is for ${getResourceUrl(resource)} and not for the resource of this request.`;
  return new OAuthError('invalid_target', description);
}

const REVOKE_REPLAYED = prepared(
  'revoke_replayed_code',
  `WITH revoked AS (
     UPDATE oauth_grants g SET revoked_at = :now
       FROM oauth_codes c
      WHERE c.code_hash = :codeHash AND c.used_at IS NOT NULL
        AND g.uuid = c.grant_uuid AND g.client_id = :clientId AND g.revoked_at IS NULL
     RETURNING g.account_id, g.client_id
   ), ${LOG_REVOKED_GRANTS}
   SELECT account_id FROM revoked`,
);
