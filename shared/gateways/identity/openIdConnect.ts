import { createRemoteJWKSet, customFetch, type JWTPayload, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { now } from '../../lib/clock.ts';
import { fetchBounded } from './boundedFetch.ts';
import { toIdentityFault, IdentityError, type IdentityProvider, type ProviderIdentity } from './identityProvider.ts';

/** Settings of an OpenID provider. */
export interface OpenIdSettings {
  issuer: string;
  clientId: string;
  /** Client authentication at the token endpoint. */
  authentication: client.ClientAuth;
  /** Additional parameters of the authorization URL. */
  parameters: Record<string, string>;
  /** Reads the first name from the callback, for providers that do not put it into the claims. */
  readFirstName?: (parameters: URLSearchParams) => string;
}

export interface OpenIdProvider extends IdentityProvider {
  /** Verifies the signature, issuer and audience of a token that did not come with a sign-in. */
  verifyToken(token: string, audience: string[]): Promise<JWTPayload>;
}

/** Creates an OpenID Connect provider. Its metadata and keys are fetched at the first use and cached. */
export function openIdProvider(settings: OpenIdSettings): OpenIdProvider {
  let configurationPromise: Promise<client.Configuration> | undefined;
  const discover = () => {
    // A failed discovery is not cached.
    configurationPromise ??= discoverConfiguration(settings).catch((error: unknown) => {
      configurationPromise = undefined;
      throw error;
    });
    return configurationPromise;
  };
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  return {
    verifyToken: (token, audience) =>
      withIdentityErrors(async () => {
        const { issuer, jwks_uri: keysUrl } = (await discover()).serverMetadata();
        keys ??= createRemoteJWKSet(new URL(keysUrl as string), { [customFetch]: fetchBounded });
        const expected = { issuer, audience, algorithms: ['RS256'], currentDate: now() };
        return (await jwtVerify(token, keys, expected)).payload;
      }),

    createAuthorizationUrl: (secrets, redirectUri) =>
      withIdentityErrors(async () => {
        const challenge = await client.calculatePKCECodeChallenge(secrets.codeVerifier);
        const address = client.buildAuthorizationUrl(await discover(), {
          redirect_uri: redirectUri,
          response_type: 'code',
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
          ...settings.parameters,
        });
        return address.href;
      }),

    completeSignIn: (parameters, secrets, redirectUri) =>
      withIdentityErrors(async () => {
        const configuration = await discover();
        const tokens = await client.authorizationCodeGrant(configuration, buildCallbackUrl(redirectUri, parameters), {
          expectedState: secrets.state,
          expectedNonce: secrets.nonce,
          pkceCodeVerifier: secrets.codeVerifier,
          idTokenExpected: true,
        });
        const { sub, ...claims } = tokens.claims() as client.IDToken;
        const allClaims = await addUserInfoClaims(configuration, tokens.access_token, sub, claims);
        return toOpenIdIdentity(sub, allClaims, settings.readFirstName?.(parameters));
      }),
  };
}

async function discoverConfiguration({
  issuer,
  clientId,
  authentication,
}: OpenIdSettings): Promise<client.Configuration> {
  return client.discovery(new URL(issuer), clientId, undefined, authentication, {
    [client.customFetch]: (url, options) => fetchBounded(url, options as RequestInit),
    execute: [
      // Verifies signatures although the token comes directly from the provider.
      client.enableNonRepudiationChecks,
      ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
    ],
  });
}

/** Builds the callback URL with only the parameters that the protocol defines. */
function buildCallbackUrl(redirectUri: string, parameters: URLSearchParams): URL {
  const address = new URL(redirectUri);
  for (const name of ['code', 'state', 'iss', 'error', 'error_description']) {
    for (const value of parameters.getAll(name)) address.searchParams.append(name, value);
  }
  return address;
}

type OpenIdClaims = Record<string, unknown>;

/** Fetches the user info if the ID token has no e-mail address, as with some providers. */
async function addUserInfoClaims(
  configuration: client.Configuration,
  accessToken: string,
  subject: string,
  claims: OpenIdClaims,
): Promise<OpenIdClaims> {
  if (claims['email'] !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  return { ...claims, ...(await client.fetchUserInfo(configuration, accessToken, subject)) };
}

function toOpenIdIdentity(subject: string, claims: OpenIdClaims, name: string | undefined): ProviderIdentity {
  const { email, email_verified: isVerified, given_name: givenName, name: fullName } = claims;
  return {
    subject,
    email: typeof email === 'string' ? email : null,
    // Apple sometimes sends a string.
    isEmailVerified: isVerified === true || isVerified === 'true',
    firstName: name || claimToString(givenName) || getFirstWord(claimToString(fullName)),
  };
}

function claimToString(claim: unknown): string {
  return typeof claim === 'string' ? claim : '';
}

/** Returns the first word of a full name, for providers that supply no first name. */
export function getFirstWord(name: string): string {
  return name.trim().split(/\s+/)[0] ?? '';
}

/** Error codes of responses and tokens that were read but cannot be trusted. */
const UNTRUSTED_RESPONSE_CODES = new Set([
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
]);

async function withIdentityErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof client.AuthorizationResponseError) {
      throw new IdentityError(toIdentityFault(error.error), `the provider returned ${error.error}`, { cause: error });
    }
    if (error instanceof client.ResponseBodyError) {
      const isProviderFailure = error.status >= 500 || toIdentityFault(error.error) === 'unavailable';
      throw new IdentityError(isProviderFailure ? 'unavailable' : 'rejected', `the provider returned ${error.error}`, {
        cause: error,
      });
    }
    const { code = '', message } = error as client.ClientError;
    throw new IdentityError(
      UNTRUSTED_RESPONSE_CODES.has(code) ? 'rejected' : 'unavailable',
      `${message} ${code}`.trim(),
      {
        cause: error,
      },
    );
  }
}
