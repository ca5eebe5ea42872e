import { createHmac } from 'node:crypto';
import { canParseUrl } from '../../../lib/canParseUrl.ts';
import { now } from '../../../lib/clock.ts';
import type { UpstreamSettings } from '../upstreamSettings.ts';
import type { Auth, Protocol } from './protocol.ts';

/** A request with its credential. */
export interface SignedRequest {
  url: string;
  headers: Record<string, string>;
}

/** Returns true for addresses that may receive the key: those of `base_url`, and of the hosts of the description. */
export function isOwnAddress(
  { baseUrl }: UpstreamSettings,
  { hosts = [] }: Protocol,
  address: unknown,
): address is string {
  if (typeof address !== 'string' || !canParseUrl(address)) return false;
  const [url, base] = [new URL(address), new URL(baseUrl)];
  if (url.origin === base.origin) return true;
  const isHost = hosts.some((host) =>
    host.startsWith('*.') ? url.hostname.endsWith(host.slice(1)) : url.hostname === host,
  );
  return isHost && url.protocol === base.protocol && url.port === '';
}

/** Adds the key to a request. Only addresses that may receive it are passed here. */
export function sign({ key, keyId }: UpstreamSettings, auth: Auth, { url, headers }: SignedRequest): SignedRequest {
  if (auth.type === 'none' || key === null) return { url, headers };
  if (auth.type === 'query') {
    const signed = new URL(url);
    signed.searchParams.set(auth.name as string, key);
    return { url: signed.href, headers };
  }
  return { url, headers: { ...headers, ...buildAuthHeader(auth, key, keyId) } };
}

function buildAuthHeader(auth: Auth, key: string, keyId: string | undefined): Record<string, string> {
  if (auth.type === 'header') return { [auth.name as string]: `${auth.prefix ?? ''}${key}` };
  const isPlain = auth.type === 'bearer' || (auth.plain_keys === true && keyId === undefined);
  return { authorization: `Bearer ${isPlain ? key : signToken(auth, key, keyId)}` };
}

const TOKEN_LIFETIME_SECONDS = 1_800;
/** Tolerance for a clock of the provider that is behind ours. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** Builds a JSON Web Token (RFC 7519) that names the key id. */
function signToken({ algorithm = 'HS256', lifetime_seconds, key_id }: Auth, key: string, keyId = ''): string {
  const seconds = Math.floor(now().getTime() / 1_000);
  const lifetime = lifetime_seconds ?? TOKEN_LIFETIME_SECONDS;
  const header = { alg: algorithm, typ: 'JWT', ...(key_id === 'kid' ? { kid: keyId } : {}) };
  const claims = {
    ...(key_id === 'kid' ? {} : { iss: keyId }),
    exp: seconds + lifetime,
    nbf: seconds - CLOCK_TOLERANCE_SECONDS,
  };
  const content = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = createHmac(algorithm.replace('HS', 'sha'), key).update(content).digest('base64url');
  return `${content}.${signature}`;
}

/** Returns the secret that submits pass on, for the signatures of call-backs; null without one. */
export function getCallbackSecret({ protocol, callbacks }: UpstreamSettings): string | null {
  return protocol?.callback?.signature === 'hmac' ? (callbacks?.secret?.toString() ?? null) : null;
}

const SECRET_FIELD = /auth|key|password|secret|signature|token/i;
const SECRET_MIN_CHARACTERS = 8;

/** A text of a template that contains a variable. */
const WITH_VARIABLE = /^\$\w+$|\{\w+\}/;

/**
 * Lists the values in the requests of a description whose names say that they are secrets, such as a second key.
 * @param list name of the list that `part` is.
 */
function listNamedSecrets(part: unknown, isInRequest = false, list?: string): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => {
    const name = list ?? key;
    if (typeof value !== 'string') {
      const isRequest = isInRequest || ['headers', 'query', 'body'].includes(name);
      return listNamedSecrets(value, isRequest, Array.isArray(value) ? name : undefined);
    }
    const isSecret = isInRequest && SECRET_FIELD.test(name) && !WITH_VARIABLE.test(value);
    return isSecret && value.length >= SECRET_MIN_CHARACTERS ? [value] : [];
  });
}

/** Returns a function that replaces the secrets of an upstream in a text, also where an address contains them. */
export function createRedactor(upstream: UpstreamSettings): (text: string) => string {
  const secrets = [upstream.key, getCallbackSecret(upstream), ...listNamedSecrets(upstream.protocol)].filter(
    (secret) => secret !== null && secret !== '',
  );
  const forms = secrets.flatMap((secret) => [
    secret as string,
    encodeURIComponent(secret as string),
    new URLSearchParams({ _: secret as string }).toString().slice('_='.length),
  ]);
  return (text) => forms.reduce((redacted, form) => redacted.replaceAll(form, '***'), text);
}
