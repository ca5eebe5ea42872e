import { type Config, ConfigError } from '../../lib/config.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';
import { TEST_UPSTREAM_NAME } from '../../spec/testMode.ts';
import { type CallbackSettings, readCallbackSettings } from './callbacks/callbackSettings.ts';
import { ADAPTER_NAMES, type AdapterName } from './modelPresets.ts';
import { buildTestUpstream } from './testUpstream.ts';
import type { UpstreamsVariable } from './upstreamsVariable.ts';

/** A provider, or a gateway to several, that runs generations. */
export interface UpstreamSettings {
  name: string;
  adapter: AdapterName;
  /** Without a trailing slash. */
  baseUrl: string;
  key: string | null;
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
    const adapter = overrides.adapter ?? ADAPTER_NAMES.find((candidate) => candidate === name);
    const baseUrl = overrides.base_url ?? defaults?.base_url;
    if (adapter === undefined || baseUrl === undefined || !canParseUrl(baseUrl)) {
      throw new ConfigError(`UPSTREAMS/upstreams/${name} must have an "adapter" and a "base_url".`);
    }
    const identity = { name, adapter, baseUrl: baseUrl.replace(/\/+$/, '') };
    const callbacks = readCallbackSettings(settings, identity, overrides);
    return [
      name,
      {
        ...identity,
        key: overrides.key ?? defaults?.key ?? null,
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
