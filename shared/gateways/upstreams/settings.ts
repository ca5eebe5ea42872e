import { config, type Config, ConfigError } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { everyParams, type Kind, MODEL_SLUGS, modelBySlug, type ModelSlug } from '../../spec/catalog.ts';
import { ADAPTERS, type Adapter, KNOWN_MODELS, type ModelTable, USUAL_INPUTS } from './knownModels.ts';
import { fill, type Order } from './template.ts';
import { CENTS_MAX, parseVariable, type UpstreamsVariable } from './variable.ts';

/** A provider, or a gateway to some, that generations can be run at. */
export interface UpstreamSettings {
  name: string;
  adapter: Adapter;
  /** Without a slash at the end. */
  baseUrl: string;
  key: string | null;
  /** Jobs under way there at a time, over all workers; null for as many as there are. */
  concurrency: number | null;
  /** Jobs handed to it a minute, over all workers; null for as many as there are. */
  perMinute: number | null;
  /** Whether its outputs may be at private addresses. */
  isLocal: boolean;
  /** Whether it takes its videos' input as a form, not as JSON. */
  takesForms: boolean;
}

/** One way to have a model's generations made: which upstream, and which of its models. */
export interface Route {
  model: ModelSlug;
  kind: Kind;
  upstream: UpstreamSettings;
  modelId: string;
  table: ModelTable;
}

/** All that is known of the upstreams. */
export interface Directory {
  upstreams: Map<string, UpstreamSettings>;
  /** What UPSTREAMS says about models, by `upstream:model id`. */
  tables: Record<string, Partial<ModelTable>>;
  /** For each model its first choice, and its fallback if it has one. */
  routes: Record<ModelSlug, Route[]>;
}

const VARIABLES = {
  'vidmodel-video': ['VIDEO_UPSTREAM', 'VIDEO_UPSTREAM_FALLBACK'],
  'imgmodel-2': ['IMAGE_UPSTREAM', 'IMAGE_UPSTREAM_FALLBACK'],
} as const satisfies Record<ModelSlug, readonly (keyof Config)[]>;

/**
 * Reads who makes what from the configuration, and tries every order that a model takes on the tables of its routes.
 * @throws ConfigError that names the variable.
 */
export function parseUpstreams(settings: Config): Directory {
  const given = parseVariable(settings.UPSTREAMS);
  const directory: Directory = {
    upstreams: upstreamsOf(settings, given),
    tables: given.models ?? {},
    routes: { 'vidmodel-video': [], 'imgmodel-2': [] },
  };
  for (const name of Object.keys(directory.tables)) {
    if (directory.upstreams.has(name.slice(0, name.indexOf(':')))) continue;
    throw new ConfigError(`UPSTREAMS/models/${name} must begin with the name of an upstream and a colon.`);
  }
  for (const model of MODEL_SLUGS) {
    for (const variable of VARIABLES[model]) {
      const value = settings[variable];
      if (value === undefined) continue;
      const isTwice = directory.routes[model].some(({ upstream, modelId }) => `${upstream.name}:${modelId}` === value);
      if (isTwice) throw new ConfigError(`${variable} must be another one than the first choice.`);
      directory.routes[model].push(readRoute(directory, model, variable, value));
    }
  }
  return directory;
}

/** Those of each protocol that have variables of their own, and what UPSTREAMS adds to them or changes. */
function upstreamsOf(settings: Config, given: UpstreamsVariable): Map<string, UpstreamSettings> {
  const builtIn = {
    fal: { base_url: settings.FAL_BASE_URL, key: settings.FAL_KEY },
    openai: { base_url: settings.OPENAI_BASE_URL, key: settings.OPENAI_API_KEY },
    replicate: { base_url: settings.REPLICATE_BASE_URL, key: settings.REPLICATE_API_TOKEN },
  };
  const names = new Set([...Object.keys(builtIn), ...Object.keys(given.upstreams ?? {})]);
  const upstreams = [...names].map((name): [string, UpstreamSettings] => {
    const own = given.upstreams?.[name] ?? {};
    const usual = (builtIn as Record<string, { base_url: string; key?: string }>)[name];
    const adapter = own.adapter ?? ADAPTERS.find((candidate) => candidate === name);
    const baseUrl = own.base_url ?? usual?.base_url;
    if (adapter === undefined || baseUrl === undefined || !URL.canParse(baseUrl)) {
      throw new ConfigError(`UPSTREAMS/upstreams/${name} must have an "adapter" and a "base_url".`);
    }
    return [
      name,
      {
        name,
        adapter,
        baseUrl: baseUrl.replace(/\/+$/, ''),
        key: own.key ?? usual?.key ?? null,
        concurrency: own.concurrency ?? null,
        perMinute: own.per_minute ?? null,
        isLocal: own.local ?? false,
        takesForms: own.form ?? false,
      },
    ];
  });
  return new Map(upstreams);
}

function readRoute(directory: Directory, model: ModelSlug, variable: string, value: string): Route {
  const colon = value.indexOf(':');
  const route = routeTo(model, value.slice(0, colon), value.slice(colon + 1), directory);
  if (route === undefined) {
    const names = [...directory.upstreams.keys()].join(', ');
    throw new ConfigError(`${variable} must begin with the name of an upstream (${names}) and a colon.`);
  }
  for (const params of everyParams(model)) {
    try {
      const order = { prompt: PROMPT, ...params };
      if (!JSON.stringify(inputOf(route, order)).includes(PROMPT)) throw new Error('the prompt is not in it');
      costCentsOf(route, order);
    } catch (error) {
      const place = `UPSTREAMS/models/${value}`;
      throw new ConfigError(`${place} does not fit ${JSON.stringify(params)}: ${(error as Error).message}.`);
    }
  }
  return route;
}

/** The way to a certain model of an upstream; undefined where there is no upstream of that name. */
export function routeTo(
  model: ModelSlug,
  upstreamName: string,
  modelId: string,
  { upstreams, tables }: Directory = directory(),
): Route | undefined {
  const upstream = upstreams.get(upstreamName);
  if (upstream === undefined) return undefined;
  const kind = modelBySlug(model).kind;
  const usual = { input: USUAL_INPUTS[upstream.adapter][kind] };
  const known = KNOWN_MODELS[`${upstream.adapter}:${modelId}`];
  const table = { ...usual, ...known, ...tables[`${upstreamName}:${modelId}`] };
  return { model, kind, upstream, modelId, table };
}

/** Stands for any. */
const PROMPT = 'a prompt of a customer';

/** What the route's upstream is sent for an order. */
export function inputOf({ table }: Route, order: Order): Record<string, unknown> {
  const input = fill(table.input, order);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
  throw new Error(`an input must be an object, not ${JSON.stringify(input)}`);
}

/** What a finished run costs us, in cents with four decimals at the most; null where no price is known. */
export function costCentsOf({ table }: Route, order: Order): number | null {
  const { cents, cents_per_second: perSecond } = table;
  if (cents === undefined && perSecond === undefined) return null;
  const seconds = 'duration' in order ? order.duration : 0;
  const sum = numberOf(fill(cents ?? 0, order)) + seconds * numberOf(fill(perSecond ?? 0, order));
  return Math.round(sum * 10_000) / 10_000;
}

function numberOf(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= CENTS_MAX) return value;
  throw new Error(`a price must be a number from 0 to ${CENTS_MAX}, not ${JSON.stringify(value)}`);
}

const directory = perService(() => parseUpstreams(config));

/** The upstreams of each model: its first choice, and its fallback if it has one. */
export function routes(): Readonly<Record<ModelSlug, readonly Route[]>> {
  return directory().routes;
}
