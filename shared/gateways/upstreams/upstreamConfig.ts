import { config, type Config, ConfigError } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { allParams, type ModelKind, MODEL_SLUGS, getModelBySlug, type ModelSlug } from '../../spec/catalog.ts';
import {
  ADAPTER_NAMES,
  type AdapterName,
  MODEL_PRESETS,
  type UpstreamModelSettings,
  DEFAULT_INPUTS,
} from './modelPresets.ts';
import { fillTemplate, type TemplateVariables } from './template.ts';
import { PRICE_MAX_CENTS, parseUpstreamsVariable, type UpstreamsVariable } from './upstreamsVariable.ts';

/** A provider, or a gateway to some, that generations can be run at. */
export interface UpstreamSettings {
  name: string;
  adapter: AdapterName;
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
export interface UpstreamRoute {
  model: ModelSlug;
  kind: ModelKind;
  upstream: UpstreamSettings;
  modelId: string;
  modelSettings: UpstreamModelSettings;
}

/** All that is known of the upstreams. */
export interface UpstreamConfig {
  upstreams: Map<string, UpstreamSettings>;
  /** What UPSTREAMS says about models, by `upstream:model id`. */
  modelOverrides: Record<string, Partial<UpstreamModelSettings>>;
  /** For each model its first choice, and its fallback if it has one. */
  routes: Record<ModelSlug, UpstreamRoute[]>;
}

const ROUTE_VARIABLES = {
  'vidmodel-video': ['VIDEO_UPSTREAM', 'VIDEO_UPSTREAM_FALLBACK'],
  'imgmodel-2': ['IMAGE_UPSTREAM', 'IMAGE_UPSTREAM_FALLBACK'],
} as const satisfies Record<ModelSlug, readonly (keyof Config)[]>;

/**
 * Reads who makes what from the configuration, and tries every order that a model takes on the tables of its routes.
 * @throws ConfigError that names the variable.
 */
export function parseUpstreams(settings: Config): UpstreamConfig {
  const declared = parseUpstreamsVariable(settings.UPSTREAMS);
  const parsed: UpstreamConfig = {
    upstreams: readUpstreams(settings, declared),
    modelOverrides: declared.models ?? {},
    routes: { 'vidmodel-video': [], 'imgmodel-2': [] },
  };
  for (const name of Object.keys(parsed.modelOverrides)) {
    if (parsed.upstreams.has(name.slice(0, name.indexOf(':')))) continue;
    throw new ConfigError(`UPSTREAMS/models/${name} must begin with the name of an upstream and a colon.`);
  }
  for (const model of MODEL_SLUGS) {
    for (const variable of ROUTE_VARIABLES[model]) {
      const value = settings[variable];
      if (value === undefined) continue;
      const isTwice = parsed.routes[model].some(({ upstream, modelId }) => `${upstream.name}:${modelId}` === value);
      if (isTwice) throw new ConfigError(`${variable} must be another one than the first choice.`);
      parsed.routes[model].push(readRoute(parsed, model, variable, value));
    }
  }
  return parsed;
}

/** Those of each protocol that have variables of their own, and what UPSTREAMS adds to them or changes. */
function readUpstreams(settings: Config, declared: UpstreamsVariable): Map<string, UpstreamSettings> {
  const builtIn = {
    fal: { base_url: settings.FAL_BASE_URL, key: settings.FAL_KEY },
    openai: { base_url: settings.OPENAI_BASE_URL, key: settings.OPENAI_API_KEY },
    replicate: { base_url: settings.REPLICATE_BASE_URL, key: settings.REPLICATE_API_TOKEN },
  };
  const names = new Set([...Object.keys(builtIn), ...Object.keys(declared.upstreams ?? {})]);
  const upstreams = [...names].map((name): [string, UpstreamSettings] => {
    const overrides = declared.upstreams?.[name] ?? {};
    const defaults = (builtIn as Record<string, { base_url: string; key?: string }>)[name];
    const adapter = overrides.adapter ?? ADAPTER_NAMES.find((candidate) => candidate === name);
    const baseUrl = overrides.base_url ?? defaults?.base_url;
    if (adapter === undefined || baseUrl === undefined || !URL.canParse(baseUrl)) {
      throw new ConfigError(`UPSTREAMS/upstreams/${name} must have an "adapter" and a "base_url".`);
    }
    return [
      name,
      {
        name,
        adapter,
        baseUrl: baseUrl.replace(/\/+$/, ''),
        key: overrides.key ?? defaults?.key ?? null,
        concurrency: overrides.concurrency ?? null,
        perMinute: overrides.per_minute ?? null,
        isLocal: overrides.local ?? false,
        takesForms: overrides.form ?? false,
      },
    ];
  });
  return new Map(upstreams);
}

function readRoute(partialConfig: UpstreamConfig, model: ModelSlug, variable: string, value: string): UpstreamRoute {
  const colon = value.indexOf(':');
  const route = findUpstreamRoute(model, value.slice(0, colon), value.slice(colon + 1), partialConfig);
  if (route === undefined) {
    const names = [...partialConfig.upstreams.keys()].join(', ');
    throw new ConfigError(`${variable} must begin with the name of an upstream (${names}) and a colon.`);
  }
  for (const params of allParams(model)) {
    try {
      const variables = { prompt: SAMPLE_PROMPT, ...params };
      if (!JSON.stringify(buildUpstreamInput(route, variables)).includes(SAMPLE_PROMPT))
        throw new Error('the prompt is not in it');
      computeCostCents(route, variables);
    } catch (error) {
      const place = `UPSTREAMS/models/${value}`;
      throw new ConfigError(`${place} does not fit ${JSON.stringify(params)}: ${(error as Error).message}.`);
    }
  }
  return route;
}

/** The way to a certain model of an upstream; undefined where there is no upstream of that name. */
export function findUpstreamRoute(
  model: ModelSlug,
  upstreamName: string,
  modelId: string,
  { upstreams, modelOverrides }: UpstreamConfig = upstreamConfig(),
): UpstreamRoute | undefined {
  const upstream = upstreams.get(upstreamName);
  if (upstream === undefined) return undefined;
  const kind = getModelBySlug(model).kind;
  const defaults = { input: DEFAULT_INPUTS[upstream.adapter][kind] };
  const preset = MODEL_PRESETS[`${upstream.adapter}:${modelId}`];
  const table = { ...defaults, ...preset, ...modelOverrides[`${upstreamName}:${modelId}`] };
  return { model, kind, upstream, modelId, modelSettings: table };
}

/** Stands for any. */
const SAMPLE_PROMPT = 'a prompt of a customer';

/** What the route's upstream is sent for an order. */
export function buildUpstreamInput(
  { modelSettings }: UpstreamRoute,
  variables: TemplateVariables,
): Record<string, unknown> {
  const input = fillTemplate(modelSettings.input, variables);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
  throw new Error(`an input must be an object, not ${JSON.stringify(input)}`);
}

/** What a finished run costs us, in cents with four decimals at the most; null where no price is known. */
export function computeCostCents({ modelSettings }: UpstreamRoute, variables: TemplateVariables): number | null {
  const { cents, cents_per_second: perSecond } = modelSettings;
  if (cents === undefined && perSecond === undefined) return null;
  const seconds = 'duration' in variables ? variables.duration : 0;
  const sum =
    requirePrice(fillTemplate(cents ?? 0, variables)) + seconds * requirePrice(fillTemplate(perSecond ?? 0, variables));
  return Math.round(sum * 10_000) / 10_000;
}

function requirePrice(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= PRICE_MAX_CENTS) return value;
  throw new Error(`a price must be a number from 0 to ${PRICE_MAX_CENTS}, not ${JSON.stringify(value)}`);
}

const upstreamConfig = perService(() => parseUpstreams(config));

/** The upstreams of each model: its first choice, and its fallback if it has one. */
export function getUpstreamRoutes(): Readonly<Record<ModelSlug, readonly UpstreamRoute[]>> {
  return upstreamConfig().routes;
}
