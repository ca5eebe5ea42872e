import { type Config, ConfigError } from '../../../lib/config.ts';
import { canParseUrl } from '../../../lib/canParseUrl.ts';
import { isLocalUrl, isPublicHttpsUrl } from '../../../lib/configChecks.ts';
import type { AdapterName } from '../modelPresets.ts';
import type { UpstreamsVariable } from '../upstreamsVariable.ts';
import { parseSecret } from './callbackProtocols.ts';

/** Settings of the requests by which an upstream reports that a run has ended. */
export interface CallbackSettings {
  /** Address at which the upstream reaches this service, without a trailing slash. */
  serviceUrl: string;
  /** Address of the keys with which the upstream signs its call-backs. */
  keysUrl: string;
  /** Secret of the signatures; null if it is fetched, or if the signatures are those of a public key. */
  secret: Buffer | null;
}

type DeclaredUpstream = NonNullable<UpstreamsVariable['upstreams']>[string];

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
  { name, adapter, baseUrl }: { name: string; adapter: AdapterName; baseUrl: string },
  declared: DeclaredUpstream,
): CallbackSettings | undefined {
  const { callbacks, callback_keys_url: keysUrl } = declared;
  const place = `UPSTREAMS/upstreams/${name}`;
  const secret = readSecret(declared, adapter, place);
  if (callbacks === false) return undefined;
  if (adapter === 'openai') {
    if (callbacks === undefined) return undefined;
    throw new ConfigError(`${place}/callbacks must not be set: this protocol has none.`);
  }
  const serviceUrl = (typeof callbacks === 'string' ? callbacks : settings.BASE_URL).replace(/\/+$/, '');
  if (!canParseUrl(serviceUrl)) throw new ConfigError(`${place}/callbacks must be an address such as https://host.`);
  if (keysUrl !== undefined && !canParseUrl(keysUrl))
    throw new ConfigError(`${place}/callback_keys_url must be an address such as https://host/jwks.json.`);
  const hasSecretKey = settings.SECRET_KEY !== undefined;
  if (callbacks === undefined && !(isPublicHttpsUrl(serviceUrl) && hasSecretKey)) return undefined;
  if (!hasSecretKey && !isLocalUrl(serviceUrl))
    throw new ConfigError(`SECRET_KEY is not set, but ${place}/callbacks is: addresses of call-backs depend on it.`);
  return { serviceUrl, keysUrl: keysUrl ?? getDefaultKeysUrl(adapter, baseUrl), secret };
}

function readSecret({ callback_secret: text }: DeclaredUpstream, adapter: AdapterName, place: string): Buffer | null {
  if (text === undefined) return null;
  if (adapter !== 'replicate')
    throw new ConfigError(`${place}/callback_secret must not be set: only call-backs of replicate have a secret.`);
  const secret = parseSecret(text);
  if (secret === undefined)
    throw new ConfigError(`${place}/callback_secret must be whsec_ and at least 16 bytes in base64.`);
  return secret;
}

/** fal publishes its keys on another host than its queue. Replicate returns the secret of the account. */
function getDefaultKeysUrl(adapter: 'fal' | 'replicate', baseUrl: string): string {
  if (adapter === 'replicate') return `${baseUrl}/webhooks/default/secret`;
  const { origin, hostname } = new URL(baseUrl);
  return hostname === FAL_HOST ? FAL_KEYS_URL : `${origin}/.well-known/jwks.json`;
}
