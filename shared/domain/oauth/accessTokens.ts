import { randomUUID, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ACCESS_TOKEN_SECONDS } from '../../spec/limits.ts';
import { SCOPES, type Scope } from '../../spec/oauth.ts';
import { findKeyByHeader, getSigningKey } from './signingKeys.ts';

/** What access tokens are good for: the audience, also accepted with a slash at its end (spec: OAuth for MCP). */
export const resourceUrl = () => `${config.BASE_URL}/mcp`;
export const issuer = () => config.BASE_URL;

/** What an access token says. Whether its grant still stands is asked separately, at each use. */
export interface AccessToken {
  accountUuid: string;
  grantUuid: string;
  clientId: string;
  scopes: ReadonlySet<Scope>;
  expiresAt: Date;
}

/** A token that is none of ours, or no longer good. */
export class InvalidAccessTokenError extends Error {}

/** Far above the longest that we make. */
const ACCESS_TOKEN_MAX_CHARACTERS = 4_096;
const verifiedTokens = perService(() => new LRUCache<string, AccessToken>({ max: 10_000 }));
// On the thread pool, so that a signature keeps nobody waiting.
const signOnThreadPool = promisify(sign);

/** Makes an access token: a JWT as RFC 9068 describes it, good for an hour. */
export async function issueAccessToken(about: Omit<AccessToken, 'expiresAt'>): Promise<string> {
  const key = await getSigningKey();
  const issuedAt = Math.floor(now().getTime() / 1_000);
  const claims = {
    iss: issuer(),
    aud: resourceUrl(),
    sub: about.accountUuid,
    client_id: about.clientId,
    scope: [...about.scopes].join(' '),
    iat: issuedAt,
    exp: issuedAt + ACCESS_TOKEN_SECONDS,
    jti: randomUUID(),
    grant: about.grantUuid,
  };
  const input = `${key.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  const signature = await signOnThreadPool('sha256', Buffer.from(input), key.privateKey);
  return `${input}.${signature.toString('base64url')}`;
}

/**
 * Checks an access token by itself: signed by us, for us, and not expired. A token that was found good is remembered
 * until it expires.
 * @throws InvalidAccessToken
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
      'That is neither an access token of this service nor an API key, "svc_" followed by 40 hex characters.',
    );
  // The whole header must be one that we write, so that nothing in it is left to be believed: neither alg nor typ.
  const key = await findKeyByHeader(header);
  if (key === undefined)
    throw new InvalidAccessTokenError('The access token is not signed with a key of this service.');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    key.publicKey,
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new InvalidAccessTokenError('The signature of the access token is wrong.');
  return parseClaims(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>);
}

/** Claims under our own signature: what is missing or of another type was not written by this version. */
function parseClaims({ iss, aud, sub, client_id: clientId, scope, exp, grant }: Record<string, unknown>): AccessToken {
  if (iss !== issuer()) throw new InvalidAccessTokenError('The access token is of another issuer.');
  if (aud !== resourceUrl() && aud !== `${resourceUrl()}/`)
    throw new InvalidAccessTokenError(`The access token is not for ${resourceUrl()}.`);
  if (typeof exp !== 'number' || exp * 1_000 <= now().getTime()) throw expiredTokenError();
  if (typeof sub !== 'string' || typeof clientId !== 'string' || typeof scope !== 'string' || typeof grant !== 'string')
    throw new InvalidAccessTokenError('The access token lacks a claim.');
  const scopes = scope.split(' ').filter((name): name is Scope => Object.hasOwn(SCOPES, name));
  return {
    accountUuid: sub,
    grantUuid: grant,
    clientId,
    scopes: new Set(scopes),
    expiresAt: new Date(exp * 1_000),
  };
}

function expiredTokenError(): InvalidAccessTokenError {
  return new InvalidAccessTokenError('The access token has expired: use the refresh token.');
}
