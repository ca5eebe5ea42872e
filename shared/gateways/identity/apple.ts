import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { ClientAuth } from 'openid-client';
import { tryParseBoundedJson } from '../../lib/boundedJson.ts';
import { now } from '../../lib/clock.ts';
import { openIdProvider } from './openIdConnect.ts';
import { IdentityError, type IdentityNotification, type IdentityProvider } from './identityProvider.ts';

export interface AppleSettings {
  issuer: string;
  clientId: string;
  /** App ID that the service belongs to, for which notifications may be signed. */
  appId: string | undefined;
  teamId: string;
  keyId: string;
  /** PEM. */
  privateKey: string;
}

/**
 * Creates the Apple provider. Its client secret is a signed token, its callback is a form post, and it sends
 * notifications.
 */
export function appleProvider(settings: AppleSettings): IdentityProvider {
  const provider = openIdProvider({
    issuer: settings.issuer,
    clientId: settings.clientId,
    authentication: createAppleClientAuth(settings),
    parameters: { scope: 'openid email name', response_mode: 'form_post' },
    readFirstName: parseFirstName,
  });
  return {
    ...provider,
    readNotification: async (token) => {
      const audience = [settings.clientId, ...(settings.appId === undefined ? [] : [settings.appId])];
      return parseEvent((await provider.verifyToken(token, audience))['events']);
    },
  };
}

/** Characters of a subject. Others cannot be stored. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/;

/** Parses the claim `events`: one event, as JSON text or as an object. Apple has documented both. */
function parseEvent(events: unknown): IdentityNotification {
  const event = (typeof events === 'string' ? tryParseBoundedJson(events) : events) as
    | Record<string, unknown>
    | undefined;
  // The time is in milliseconds, unlike the other times of tokens.
  const { type, sub: subject, event_time: milliseconds } = event ?? {};
  const isKnownForm = typeof type === 'string' && typeof subject === 'string' && SUBJECT.test(subject);
  if (isKnownForm && typeof milliseconds === 'number' && milliseconds >= 0)
    return { type, subject, at: new Date(Math.min(milliseconds, now().getTime())) };
  // An ID token, for example, has none.
  throw new IdentityError('rejected', 'the token contains no event');
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
  const user = tryParseBoundedJson(parameters.get('user') ?? '') as
    | { name?: { firstName?: unknown } | null }
    | null
    | undefined;
  const firstName = user?.name?.firstName;
  return typeof firstName === 'string' ? firstName : '';
}
