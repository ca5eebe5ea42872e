import { type Config, ConfigError } from '../../lib/config.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';
import { TEST_UPSTREAM_NAME } from '../../spec/testMode.ts';
import { checkProtocol, ProtocolError } from './described/checkProtocol.ts';
import type { Protocol } from './described/protocol.ts';
import { type CallbackSettings, readCallbackSettings } from './callbacks/callbackSettings.ts';
import { type AdapterName, BUILT_IN_ADAPTERS } from './modelPresets.ts';
import { buildTestUpstream } from './testUpstream.ts';
import { PROVIDERS } from './providers/index.ts';
import type { DeclaredUpstream, UpstreamsVariable } from './upstreamsVariable.ts';

/** A provider, or a gateway to several, that runs generations. */
export interface UpstreamSettings {
  name: string;
  adapter: AdapterName;
  /** Without a trailing slash. */
  baseUrl: string;
  key: string | null;
  /** Id of the key, for protocols that sign with it. */
  keyId?: string;
  /** Description of the protocol, for the adapter `http`. */
  protocol?: Protocol;
  /** Maximum number of concurrent generations, over all workers; null for no limit. */
  concurrency: number | null;
  /** Maximum number of submits per minute, over all workers; null for no limit. */
  perMinute: number | null;
  /** True if its outputs may be at private addresses. */
  isLocal: boolean;
  /** True if it takes the input of videos as form data and not as JSON. */
  acceptsForm: boolean;
  /** Call-backs that its submits ask for. Absent: none. */
  callbacks?: CallbackSettings;
}

/** Reads the built-in upstreams, which have variables of their own, and merges UPSTREAMS into them. */
export function readUpstreams(settings: Config, declared: UpstreamsVariable): Map<string, UpstreamSettings> {
  const builtIn = {
    fal: { base_url: settings.FAL_BASE_URL, key: settings.FAL_KEY },
    openai: { base_url: settings.OPENAI_BASE_URL, key: settings.OPENAI_API_KEY },
    replicate: { base_url: settings.REPLICATE_BASE_URL, key: settings.REPLICATE_API_TOKEN },
  };
  const names = new Set([...Object.keys(builtIn), ...Object.keys(declared.upstreams ?? {})]);
  if (names.has(TEST_UPSTREAM_NAME))
    throw new ConfigError(`UPSTREAMS/upstreams/${TEST_UPSTREAM_NAME} is reserved: set TEST_UPSTREAM_URL instead.`);
  const upstreams = [...names].map((name): [string, UpstreamSettings] => {
    const overrides = declared.upstreams?.[name] ?? {};
    const defaults = (builtIn as Record<string, { base_url: string; key?: string }>)[name];
    const adapter = overrides.adapter ?? BUILT_IN_ADAPTERS.find((candidate) => candidate === name);
    const described = readProtocol(name, adapter, overrides);
    const baseUrl = overrides.base_url ?? defaults?.base_url ?? described?.base_url;
    if (adapter === undefined || baseUrl === undefined || !canParseUrl(baseUrl)) {
      throw new ConfigError(`UPSTREAMS/upstreams/${name} must have an "adapter" and a "base_url".`);
    }
    const protocol = described === undefined ? {} : { protocol: described.protocol };
    const identity = { name, adapter, baseUrl: baseUrl.replace(/\/+$/, ''), ...protocol };
    const callbacks = readCallbackSettings(settings, identity, overrides);
    return [
      name,
      {
        ...identity,
        key: overrides.key ?? defaults?.key ?? null,
        ...(overrides.key_id === undefined ? {} : { keyId: overrides.key_id }),
        concurrency: overrides.concurrency ?? null,
        perMinute: overrides.per_minute ?? null,
        isLocal: overrides.local ?? false,
        acceptsForm: overrides.form ?? false,
        ...(callbacks === undefined ? {} : { callbacks }),
      },
    ];
  });
  const testUpstream = settings.TEST_UPSTREAM_URL === undefined ? null : buildTestUpstream(settings.TEST_UPSTREAM_URL);
  return new Map(testUpstream === null ? upstreams : [...upstreams, [testUpstream.name, testUpstream]]);
}

/**
 * Returns the description of an upstream with the adapter `http`: its own, or that of a provider.
 * @throws ConfigError if there is none, or it is not usable.
 */
function readProtocol(
  name: string,
  adapter: AdapterName | undefined,
  { provider, protocol, key_id: keyId }: DeclaredUpstream,
): { base_url?: string; protocol: Protocol } | undefined {
  const place = `UPSTREAMS/upstreams/${name}`;
  if (adapter !== 'http') {
    const field = Object.entries({ provider, protocol, key_id: keyId }).find(([, value]) => value !== undefined)?.[0];
    if (field === undefined) return undefined;
    throw new ConfigError(`${place}/${field} must not be set: only the adapter http has one.`);
  }
  if ((provider === undefined) === (protocol === undefined))
    throw new ConfigError(`${place} must have either a "provider" or a "protocol".`);
  const found = protocol === undefined ? PROVIDERS[provider as string] : { protocol };
  if (found === undefined)
    throw new ConfigError(`${place}/provider must be one of ${Object.keys(PROVIDERS).join(', ')}.`);
  try {
    checkProtocol(found.protocol);
  } catch (error) {
    if (error instanceof ProtocolError) throw new ConfigError(`${place}/protocol${error.message}`);
    throw error;
  }
  const { auth } = found.protocol;
  if (auth.type === 'jwt' && auth.plain_keys !== true && keyId === undefined)
    throw new ConfigError(`${place}/key_id is not set: tokens of this protocol name the id of the key.`);
  return found;
}
