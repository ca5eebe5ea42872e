import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { UpstreamConfig } from '../../../shared/gateways/upstreams/upstreamConfig.ts';
import type { UpstreamSettings } from '../../../shared/gateways/upstreams/upstreamSettings.ts';
import { parseUpstreamsVariable } from '../../../shared/gateways/upstreams/upstreamsVariable.ts';
import type { Config } from '../../../shared/lib/config.ts';
import { choosePort } from '../servers/ports.ts';
import { readServerRecord, writeServerRecordFile } from '../servers/runningServer.ts';
import type { SummaryRow } from './startupSummary.ts';

/** The providers that the sample upstream can replace, the variables of each, and whether it works without a key. */
const PROVIDERS = [
  { name: 'fal', address: 'FAL_BASE_URL', key: 'FAL_KEY', isOpen: false },
  { name: 'openai', address: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', isOpen: true },
  { name: 'replicate', address: 'REPLICATE_BASE_URL', key: 'REPLICATE_API_TOKEN', isOpen: false },
] as const;

/** The upstreams in use, and those that the sample upstream replaces. */
export interface UpstreamPlan {
  /** In the order of the models, each upstream once. */
  inUse: UpstreamInUse[];
  /** Providers without a configured address or key, which the sample upstream replaces. */
  replacedBySample: UpstreamSettings[];
  /** True if any of those is in use. */
  needsSample: boolean;
}

interface UpstreamInUse {
  upstream: UpstreamSettings;
  /** The variable that configures a real provider; null if the sample upstream replaces it. */
  configuredBy: string | null;
  /** Names of the models that use it. */
  models: string[];
}

/**
 * Decides which upstreams are real: those with a configured address or key. So the sample upstream never receives a
 * real key, and a paid provider never receives a job for the sample.
 */
export function decideUpstreams(
  config: Config,
  { upstreams, routes }: UpstreamConfig,
  env: NodeJS.ProcessEnv,
): UpstreamPlan {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? '') !== '';
  const usualAddress = (variable: (typeof PROVIDERS)[number]['address']): string =>
    config[variable].replace(/\/+$/, '');
  const replaced = PROVIDERS.filter(({ name, address }) => {
    const upstream = upstreams.get(name);
    // UPSTREAMS may have set them, too.
    return !isSet(address) && upstream?.key === null && upstream.baseUrl === usualAddress(address);
  }).map(({ name }) => upstreams.get(name)!);

  function findConfiguration({ name, baseUrl }: UpstreamSettings): string | null {
    if (replaced.some((upstream) => upstream.name === name)) return null;
    const provider = PROVIDERS.find((candidate) => candidate.name === name);
    if (provider === undefined || baseUrl !== usualAddress(provider.address)) return 'UPSTREAMS';
    return [provider.address, provider.key].find(isSet) ?? 'UPSTREAMS';
  }

  const inUse = new Map<string, UpstreamInUse>();
  for (const [model, choices] of Object.entries(routes)) {
    for (const [index, { upstream }] of choices.entries()) {
      const entry = inUse.get(upstream.name) ?? { upstream, configuredBy: findConfiguration(upstream), models: [] };
      entry.models.push(index === 0 ? model : `${model} as fallback`);
      inUse.set(upstream.name, entry);
    }
  }
  const needsSample = [...inUse.values()].some((entry) => entry.configuredBy === null);
  return { inUse: [...inUse.values()], replacedBySample: replaced, needsSample };
}

/**
 * Checks before any start what the worker would otherwise fail with.
 * @throws Error with the name of the variable.
 */
export function validateUpstreamKeys({ inUse }: UpstreamPlan): void {
  for (const { upstream, configuredBy } of inUse) {
    const provider = PROVIDERS.find(({ name }) => name === upstream.name);
    if (configuredBy === null || upstream.key !== null || provider === undefined || provider.isOpen) continue;
    throw new Error(`${provider.key} is not set: it must be the key of ${upstream.baseUrl}.`);
  }
}

/** Options for starting the sample upstream. */
export interface SampleLaunchOptions {
  url: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Prepares the folder of the sample upstream in the data folder. The port stays the same from start to start: running
 * jobs have stored its addresses.
 */
export async function prepareSampleUpstream(dataDir: string): Promise<SampleLaunchOptions> {
  const folder = join(dataDir, 'upstream');
  mkdirSync(folder, { recursive: true });
  const recordFile = join(folder, 'upstream.json');
  const port = await choosePort(undefined, readServerRecord(recordFile)?.port);
  writeServerRecordFile(recordFile, { port, pid: null, source: 'sample upstream' });
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, PORT: String(port), SAMPLE_DATA_DIR: folder, SAMPLE_HOST: '', TEST_UPSTREAM_URL: url };
  return { url, env };
}

/**
 * Variables that point the replaced providers at the sample upstream, if it runs, and ask it for call-backs: it is on
 * this machine, so that it reaches the service at any address.
 * @param declared UPSTREAMS of the configuration.
 */
export function buildSampleEnv(
  { replacedBySample }: UpstreamPlan,
  sampleUrl: string | null,
  declared: string,
): Record<string, string> {
  if (sampleUrl === null || replacedBySample.length === 0) return {};
  const pairs = replacedBySample.flatMap((upstream): [string, string][] => {
    const { address, key } = PROVIDERS.find(({ name }) => name === upstream.name)!;
    return [
      [address, getSampleAddress(upstream, sampleUrl)],
      [key, 'sample'],
    ];
  });
  const variable = parseUpstreamsVariable(declared);
  const withCallbacks = replacedBySample
    .filter(({ adapter }) => adapter !== 'openai')
    .map(({ name }) => [name, { callbacks: true, ...variable.upstreams?.[name] }] as const);
  const upstreams = { ...variable.upstreams, ...Object.fromEntries(withCallbacks) };
  return { ...Object.fromEntries(pairs), UPSTREAMS: JSON.stringify({ ...variable, upstreams }) };
}

/** Formats a line for each upstream in use; if there are several, with its models. */
export function formatUpstreamRows({ inUse }: UpstreamPlan, sampleUrl: string | null): SummaryRow[] {
  return inUse.map(({ upstream, configuredBy, models }) => {
    const how = configuredBy ?? 'the sample upstream, dev/sampleUpstream';
    const address =
      configuredBy === null && sampleUrl !== null ? getSampleAddress(upstream, sampleUrl) : upstream.baseUrl;
    const note = inUse.length === 1 ? how : `${how}, for ${models.join(' and ')}`;
    return ['Upstream', upstream.name, address, note];
  });
}

/** Address of the sample upstream for a provider's protocol. */
function getSampleAddress({ adapter }: UpstreamSettings, sampleUrl: string): string {
  return adapter === 'fal' ? sampleUrl : `${sampleUrl}/v1`;
}
