import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { UpstreamConfig, UpstreamSettings } from '../../../shared/gateways/upstreams/upstreamConfig.ts';
import type { Config } from '../../../shared/lib/config.ts';
import { choosePort } from '../servers/ports.ts';
import { readServerRecord, writeServerRecordFile } from '../servers/runningServer.ts';
import type { SummaryRow } from './startupSummary.ts';

/** The providers that the sample upstream can stand in for, the variables of each, and whether it can go without a key. */
const PROVIDERS = [
  { name: 'fal', address: 'FAL_BASE_URL', key: 'FAL_KEY', isOpen: false },
  { name: 'openai', address: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', isOpen: true },
  { name: 'replicate', address: 'REPLICATE_BASE_URL', key: 'REPLICATE_API_TOKEN', isOpen: false },
] as const;

/** Who is to make what. */
export interface UpstreamPlan {
  /** In the order of the models, each upstream once. */
  inUse: UpstreamInUse[];
  /** The providers without an address or key of their own, in whose place the sample upstream is put. */
  replacedBySample: UpstreamSettings[];
  /** Whether any of those is in use. */
  needsSample: boolean;
}

interface UpstreamInUse {
  upstream: UpstreamSettings;
  /** What makes it a real one; null where the sample upstream stands in. */
  configuredBy: string | null;
  /** The models that it is used for, in words. */
  models: string[];
}

/**
 * Decides which upstreams are the real ones: those of which the configuration has an address or a key, so that no
 * key of somebody's goes to the sample upstream, and no job for it to anybody who charges.
 */
export function decideUpstreams(
  config: Config,
  { upstreams, routes }: UpstreamConfig,
  env: NodeJS.ProcessEnv,
): UpstreamPlan {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? '') !== '';
  const usualAddress = (variable: (typeof PROVIDERS)[number]['address']): string =>
    config[variable].replace(/\/+$/, '');
  const standIns = PROVIDERS.filter(({ name, address }) => {
    const upstream = upstreams.get(name);
    // UPSTREAMS may have given them, too.
    return !isSet(address) && upstream?.key === null && upstream.baseUrl === usualAddress(address);
  }).map(({ name }) => upstreams.get(name)!);

  function givenBy({ name, baseUrl }: UpstreamSettings): string | null {
    if (standIns.some((standIn) => standIn.name === name)) return null;
    const provider = PROVIDERS.find((candidate) => candidate.name === name);
    if (provider === undefined || baseUrl !== usualAddress(provider.address)) return 'UPSTREAMS';
    return [provider.address, provider.key].find(isSet) ?? 'UPSTREAMS';
  }

  const inUse = new Map<string, UpstreamInUse>();
  for (const [model, choices] of Object.entries(routes)) {
    for (const [index, { upstream }] of choices.entries()) {
      const entry = inUse.get(upstream.name) ?? { upstream, configuredBy: givenBy(upstream), models: [] };
      entry.models.push(index === 0 ? model : `${model} as fallback`);
      inUse.set(upstream.name, entry);
    }
  }
  const needsSample = [...inUse.values()].some((entry) => entry.configuredBy === null);
  return { inUse: [...inUse.values()], replacedBySample: standIns, needsSample };
}

/**
 * Says before anything is started what else the worker would end with.
 * @throws Error that names the variable.
 */
export function validateUpstreamKeys({ inUse }: UpstreamPlan): void {
  for (const { upstream, configuredBy: givenBy } of inUse) {
    const provider = PROVIDERS.find(({ name }) => name === upstream.name);
    if (givenBy === null || upstream.key !== null || provider === undefined || provider.isOpen) continue;
    throw new Error(`${provider.key} is not set: it must be the key of ${upstream.baseUrl}.`);
  }
}

/** How the sample upstream is started. */
export interface SampleLaunchOptions {
  url: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Prepares the place of the sample upstream in the data folder. It keeps its port from start to start: jobs under way
 * remember the addresses that they are to be asked after.
 */
export async function prepareSampleUpstream(dataDir: string): Promise<SampleLaunchOptions> {
  const folder = join(dataDir, 'upstream');
  mkdirSync(folder, { recursive: true });
  const recordFile = join(folder, 'upstream.json');
  const port = await choosePort(undefined, readServerRecord(recordFile)?.port);
  writeServerRecordFile(recordFile, { port, pid: null, source: 'sample upstream' });
  return {
    url: `http://127.0.0.1:${port}`,
    env: { ...process.env, PORT: String(port), SAMPLE_DATA_DIR: folder },
  };
}

/** The variables that put the sample upstream, if it runs, in the place of those that it stands in for. */
export function buildSampleEnv({ replacedBySample }: UpstreamPlan, sampleUrl: string | null): Record<string, string> {
  if (sampleUrl === null) return {};
  const pairs = replacedBySample.flatMap((upstream): [string, string][] => {
    const { address, key } = PROVIDERS.find(({ name }) => name === upstream.name)!;
    return [
      [address, getSampleAddress(upstream, sampleUrl)],
      [key, 'sample'],
    ];
  });
  return Object.fromEntries(pairs);
}

/** A line for each upstream in use; where there are several, with the models that it is used for. */
export function formatUpstreamRows({ inUse }: UpstreamPlan, sampleUrl: string | null): SummaryRow[] {
  return inUse.map(({ upstream, configuredBy: givenBy, models }) => {
    const how = givenBy ?? 'the sample upstream, dev/sampleUpstream';
    const address = givenBy === null && sampleUrl !== null ? getSampleAddress(upstream, sampleUrl) : upstream.baseUrl;
    const note = inUse.length === 1 ? how : `${how}, for ${models.join(' and ')}`;
    return ['Upstream', upstream.name, address, note];
  });
}

/** Where the sample upstream speaks a provider's protocol. */
function getSampleAddress({ adapter }: UpstreamSettings, sampleUrl: string): string {
  return adapter === 'fal' ? sampleUrl : `${sampleUrl}/v1`;
}
