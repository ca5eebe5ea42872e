import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { ClientAuth } from 'openid-client';
import { now } from '../../lib/clock.ts';
import { openIdProvider } from './openIdConnect.ts';
import type { IdentityProvider } from './identityProvider.ts';

export interface AppleSettings {
  issuer: string;
  clientId: string;
  teamId: string;
  keyId: string;
  /** PEM. */
  privateKey: string;
}

/** Creates the Apple provider. Its client secret is a signed token, and its callback is a form post. */
export function appleProvider(settings: AppleSettings): IdentityProvider {
  return openIdProvider({
    issuer: settings.issuer,
    clientId: settings.clientId,
    authentication: createAppleClientAuth(settings),
    parameters: { scope: 'openid email name', response_mode: 'form_post' },
    readFirstName: parseFirstName,
  });
}

/** Lifetime of a client secret, which is created for each request. */
const SECRET_SECONDS = 300;

function createAppleClientAuth({ issuer, clientId, teamId, keyId, privateKey }: AppleSettings): ClientAuth {
  const key = createPrivateKey(privateKey);
  // oxlint-disable-next-line typescript/no-misused-promises -- the library awaits it, though its type does not say so
  return async (_server, _client, body) => {
    const issuedAt = Math.floor(now().getTime() / 1_000);
    const secret = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + SECRET_SECONDS)
      .sign(key);
    body.set('client_id', clientId);
    body.set('client_secret', secret);
  };
}

/** Reads the first name from the form. Apple sends it only at the first sign-in, unsigned. */
function parseFirstName(parameters: URLSearchParams): string {
  try {
    const user = JSON.parse(parameters.get('user') ?? '{}') as { name?: { firstName?: unknown } } | null;
    const firstName = user?.name?.firstName;
    return typeof firstName === 'string' ? firstName : '';
  } catch {
    return '';
  }
}
