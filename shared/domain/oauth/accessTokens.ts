import { randomUUID, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { createLruCache } from '../../lib/lruCache.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ACCESS_TOKEN_SECONDS } from '../../spec/limits.ts';
import { SCOPES, type Scope } from '../../spec/oauth.ts';
import { findResource, getResourceUrl, type Resource } from './resources.ts';
import { findKeyByHeader, getSigningKey } from './signingKeys.ts';

export const issuer = () => config.BASE_URL;

/** Claims of an access token. The grant is checked separately, at each use. */
export interface AccessToken {
  accountUuid: string;
  grantUuid: string;
  clientId: string;
  /** The only resource that accepts the token. */
  resource: Resource;
  scopes: ReadonlySet<Scope>;
  expiresAt: Date;
}

/** Thrown for a token that this service did not issue, or that has expired. */
export class InvalidAccessTokenError extends Error {}

/** Well above the longest token that this service issues. */
const ACCESS_TOKEN_MAX_CHARACTERS = 4_096;
const verifiedTokens = perService(() => createLruCache<string, AccessToken>(10_000));
// On the thread pool, so that signing does not block the event loop.
const signOnThreadPool = promisify(sign);

/** Issues an access token: a JWT by RFC 9068, valid for an hour. */
export async function issueAccessToken(token: Omit<AccessToken, 'expiresAt'>): Promise<string> {
  const key = await getSigningKey();
  const issuedAt = Math.floor(now().getTime() / 1_000);
  const claims = {
    iss: issuer(),
    aud: getResourceUrl(token.resource),
    sub: token.accountUuid,
    client_id: token.clientId,
    scope: [...token.scopes].join(' '),
    iat: issuedAt,
    exp: issuedAt + ACCESS_TOKEN_SECONDS,
    jti: randomUUID(),
    grant: token.grantUuid,
  };
  const input = `${key.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  const signature = await signOnThreadPool('sha256', Buffer.from(input), key.privateKey);
  return `${input}.${signature.toString('base64url')}`;
}

/**
 * Verifies an access token without the database: signature, issuer, audience and expiry. Valid tokens are cached until
 * they expire. The caller checks that the token is for its resource.
 * @throws InvalidAccessTokenError
 */
export async function verifyAccessToken(token: string): Promise<AccessToken> {
  const cached = verifiedTokens().get(token);
  if (cached !== undefined) {
    if (cached.expiresAt > now()) return cached;
    verifiedTokens().delete(token);
    throw expiredTokenError();
  }
  const read = await parseSignedToken(token);
  verifiedTokens().set(token, read);
  return read;
}

async function parseSignedToken(token: string): Promise<AccessToken> {
  const [header = '', payload = '', signature = '', ...more] =
    token.length > ACCESS_TOKEN_MAX_CHARACTERS ? [] : token.split('.');
  if (signature === '' || more.length > 0)
    throw new InvalidAccessTokenError(
      'The credential is neither an access token of this service nor an API key ("svc_" followed by 40 hex characters).',
    );
  // The whole header must equal one that this service writes, so that alg and typ are never taken from the token.
  const key = await findKeyByHeader(header);
  if (key === undefined)
    throw new InvalidAccessTokenError('The access token is not signed with a key of this service.');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    key.publicKey,
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new InvalidAccessTokenError('The signature of the access token is invalid.');
  return parseClaims(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>);
}

/** Parses signed claims. A missing claim or another type means that another version issued the token. */
function parseClaims({ iss, aud, sub, client_id: clientId, scope, exp, grant }: Record<string, unknown>): AccessToken {
  if (iss !== issuer()) throw new InvalidAccessTokenError('The access token has another issuer.');
  const resource = typeof aud === 'string' ? findResource(aud) : undefined;
  if (resource === undefined) throw new InvalidAccessTokenError('The access token is not for this service.');
  if (typeof exp !== 'number' || exp * 1_000 <= now().getTime()) throw expiredTokenError();
  if (typeof sub !== 'string' || typeof clientId !== 'string' || typeof scope !== 'string' || typeof grant !== 'string')
    throw new InvalidAccessTokenError('The access token lacks a claim: request a new one.');
  const scopes = scope.split(' ').filter((name): name is Scope => Object.hasOwn(SCOPES, name));
  return {
    accountUuid: sub,
    grantUuid: grant,
    clientId,
    resource,
    scopes: new Set(scopes),
    expiresAt: new Date(exp * 1_000),
  };
}

function expiredTokenError(): InvalidAccessTokenError {
  return new InvalidAccessTokenError('The access token has expired: use the refresh token.');
}
