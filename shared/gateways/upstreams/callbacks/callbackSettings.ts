import { type Config, ConfigError } from '../../../lib/config.ts';
import { canParseUrl } from '../../../lib/canParseUrl.ts';
import { isLocalUrl, isPublicHttpsUrl } from '../../../lib/configChecks.ts';
import type { Protocol, ProtocolCallback } from '../described/protocol.ts';
import type { AdapterName, BuiltInAdapter } from '../modelPresets.ts';
import type { DeclaredUpstream } from '../upstreamsVariable.ts';
import { parseSecret } from './callbackProtocols.ts';

/** Settings of the requests by which an upstream reports that a run has ended. */
export interface CallbackSettings {
  /** Address at which the upstream reaches this service, without a trailing slash. */
  serviceUrl: string;
  /** Address of the keys with which the upstream signs its call-backs; empty if the secret is configured only. */
  keysUrl: string;
  /**
   * Secret of the signatures; null if it is fetched, or if the signatures are those of a public key. Empty without
   * signatures.
   */
  secret: Buffer | null;
}

const FAL_HOST = 'queue.fal.run';
const FAL_KEYS_URL = 'https://rest.fal.ai/.well-known/jwks.json';

/**
 * Reads the call-backs of an upstream: by default on if the service has a public https address and SECRET_KEY, from
 * which the key of their addresses is derived. Without it that would be the password of the database, which may be
 * short: the provider, which receives the addresses, could guess it. Undefined if they are off.
 * @throws ConfigError if they are on and cannot work.
 */
export function readCallbackSettings(
  settings: Config,
  { name, adapter, baseUrl, protocol }: { name: string; adapter: AdapterName; baseUrl: string; protocol?: Protocol },
  declared: DeclaredUpstream,
): CallbackSettings | undefined {
  const { callbacks, callback_keys_url: keysUrl } = declared;
  const place = `UPSTREAMS/upstreams/${name}`;
  const signature = adapter === 'http' ? protocol?.callback?.signature : SIGNATURES[adapter];
  const secret = readSecret(declared, signature, place);
  if (callbacks === false) return undefined;
  if (signature === undefined) {
    if (callbacks === undefined) return undefined;
    throw new ConfigError(`${place}/callbacks must not be set: this protocol has none.`);
  }
  const serviceUrl = (typeof callbacks === 'string' ? callbacks : settings.BASE_URL).replace(/\/+$/, '');
  if (!canParseUrl(serviceUrl)) throw new ConfigError(`${place}/callbacks must be an address such as https://host.`);
  if (keysUrl !== undefined && !canParseUrl(keysUrl))
    throw new ConfigError(`${place}/callback_keys_url must be an address such as https://host/jwks.json.`);
  if (adapter === 'http' && signature !== 'none' && secret === null) {
    if (callbacks === undefined) return undefined;
    throw new ConfigError(`${place}/callback_secret is not set, but callbacks is: it is the secret of the signatures.`);
  }
  const hasSecretKey = settings.SECRET_KEY !== undefined;
  if (callbacks === undefined && !(isPublicHttpsUrl(serviceUrl) && hasSecretKey)) return undefined;
  if (!hasSecretKey && !isLocalUrl(serviceUrl))
    throw new ConfigError(`SECRET_KEY is not set, but ${place}/callbacks is: addresses of call-backs depend on it.`);
  return { serviceUrl, keysUrl: keysUrl ?? getDefaultKeysUrl(adapter, baseUrl), secret };
}

type Signature = ProtocolCallback['signature'] | 'ed25519';

const SIGNATURES: Record<BuiltInAdapter, Signature | undefined> = {
  fal: 'ed25519',
  openai: undefined,
  replicate: 'standard_webhooks',
};

const SECRET_MIN_CHARACTERS = 16;

function readSecret(
  { callback_secret: text }: DeclaredUpstream,
  signature: Signature | undefined,
  place: string,
): Buffer | null {
  if (signature === 'none') return Buffer.alloc(0);
  if (text === undefined) return null;
  const refuse = (problem: string): never => {
    throw new ConfigError(`${place}/callback_secret ${problem}.`);
  };
  switch (signature) {
    case 'standard_webhooks':
      if (!text.startsWith('whsec_')) return refuse('must begin with whsec_');
      return parseSecret(text) ?? refuse('must be whsec_ and at least 16 bytes in base64');
    case 'hmac':
      return text.length >= SECRET_MIN_CHARACTERS ? Buffer.from(text) : refuse('must have at least 16 characters');
    default:
      return refuse('must not be set: call-backs of this protocol have no secret');
  }
}

/** fal publishes its keys on another host than its queue. Replicate returns the secret of the account. */
function getDefaultKeysUrl(adapter: AdapterName, baseUrl: string): string {
  if (adapter === 'http') return '';
  if (adapter === 'replicate') return `${baseUrl}/webhooks/default/secret`;
  const { origin, hostname } = new URL(baseUrl);
  return hostname === FAL_HOST ? FAL_KEYS_URL : `${origin}/.well-known/jwks.json`;
}
