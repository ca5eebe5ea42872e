import type { ModelKind, Template } from '../../spec/catalog.ts';
import { TEST_UPSTREAM_NAME } from '../../spec/testMode.ts';

/**
 * The upstream of test mode: the sample upstream, which speaks the protocol of fal's queue. It runs every model of the
 * catalog, and renders params that it does not support with its own.
 */

/** Generations that it runs at a time, over all workers. They never take the place of live ones. */
const CONCURRENCY = 16;

/** Returns the settings of the test upstream. */
export function buildTestUpstream(url: string) {
  return {
    name: TEST_UPSTREAM_NAME,
    adapter: 'fal',
    baseUrl: url.replace(/\/+$/, ''),
    key: 'test',
    concurrency: CONCURRENCY,
    perMinute: null,
    isLocal: true,
    acceptsForm: false,
  } as const;
}

/** Returns whether an upstream runs the generations of test accounts. */
export function isTestUpstream({ name }: { name: string }): boolean {
  return name === TEST_UPSTREAM_NAME;
}

/** Model of the test upstream for each kind. */
export const TEST_MODEL_IDS: Record<ModelKind, string> = { video: 'genmeter/text-to-video', image: 'genmeter/image' };

/** Input before the params of a request are added. */
export const TEST_INPUT: { [field: string]: Template } = { prompt: '$prompt' };

/** Values that the test upstream accepts. Others are left out. */
const VALUES: Record<ModelKind, Record<'resolution' | 'aspect_ratio', readonly unknown[]>> = {
  video: {
    resolution: ['480p', '720p', '1080p'],
    aspect_ratio: ['16:9', '9:16', '4:3', '3:4', '1:1', '21:9'],
  },
  image: {
    resolution: ['0.5K', '1K', '2K', '4K'],
    aspect_ratio: ['1:1', '16:9', '9:16', '21:9', '3:2', '2:3', '4:3', '3:4', '5:4', '4:5'],
  },
};
const SECONDS_MIN = 4;
const SECONDS_MAX = 12;

/** Returns those params of a request that the test upstream supports. */
export function pickTestParams(kind: ModelKind, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const picked = Object.entries(VALUES[kind]).flatMap(([name, values]) =>
    values.includes(params[name]) ? [[name, params[name]] as const] : [],
  );
  return { ...Object.fromEntries(picked), ...(kind === 'video' ? pickVideoParams(params) : {}) };
}

function pickVideoParams({ duration, audio }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const seconds = typeof duration === 'number' ? Math.round(duration) : SECONDS_MIN;
  return {
    duration: String(Math.min(SECONDS_MAX, Math.max(SECONDS_MIN, seconds))),
    ...(typeof audio === 'boolean' ? { generate_audio: audio } : {}),
  };
}
