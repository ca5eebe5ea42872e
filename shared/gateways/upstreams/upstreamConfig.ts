import { randomInt } from 'node:crypto';
import { type Catalog, getCatalog, parseCatalog } from '../../lib/catalog/catalog.ts';
import { isListable, listParams } from '../../lib/catalog/paramValues.ts';
import { countOutputs } from '../../lib/catalog/price.ts';
import { config, type Config, ConfigError } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { fillTemplate, listTableVariables, type TemplateVariables } from '../../lib/template.ts';
import type {
  CatalogModel,
  GenerationParams,
  ModelDefinition,
  ModelInput,
  ModelKind,
  ModelSlug,
  Template,
} from '../../spec/catalog.ts';
import { TEST_UPSTREAM_NAME } from '../../spec/testMode.ts';
import {
  addImageFields,
  buildImageVariables,
  buildSampleImages,
  hasImages,
  listSampleImages,
  NO_IMAGES,
} from './imageFields.ts';
import { DEFAULT_INPUTS, MODEL_PRESETS, type UpstreamModelSettings } from './modelPresets.ts';
import { parseModelId } from './described/requests.ts';
import { type ModelSettings, PRICE_MAX_CENTS } from './modelSettings.ts';
import { isTestUpstream, pickTestParams, TEST_INPUT, TEST_MODEL_IDS } from './testUpstream.ts';
import { readUpstreams, type UpstreamSettings } from './upstreamSettings.ts';
import { parseUpstreamsVariable } from './upstreamsVariable.ts';

/** An upstream, and one of its models, that can run generations of a catalog model. */
export interface UpstreamRoute {
  model: ModelSlug;
  kind: ModelKind;
  upstream: UpstreamSettings;
  modelId: string;
  modelSettings: UpstreamModelSettings;
  /** Params that a request may leave out. */
  optionalParams: readonly string[];
  /** Params that take images. */
  inputs: Readonly<Record<string, ModelInput>>;
  /** Number of files of a generation. */
  outputs: Template | undefined;
}

/** Facts about a model that routes depend on. */
export type RoutedModel = Pick<CatalogModel, 'slug' | 'kind'> &
  Partial<Pick<CatalogModel, 'optionalParams' | 'inputs' | 'definition'>>;

/** Upstreams and routes of the configuration. */
export interface UpstreamConfig {
  upstreams: Map<string, UpstreamSettings>;
  /** Model settings from UPSTREAMS, by `upstream:model id`. */
  modelOverrides: Record<string, ModelSettings>;
  /** First choice and optional fallback of each model. */
  routes: Record<ModelSlug, UpstreamRoute[]>;
}

const ROUTE_VARIABLES = {
  'vidmodel-video': ['VIDEO_UPSTREAM', 'VIDEO_UPSTREAM_FALLBACK'],
  'imgmodel-2': ['IMAGE_UPSTREAM', 'IMAGE_UPSTREAM_FALLBACK'],
} as const satisfies Record<string, readonly (keyof Config)[]>;

/**
 * Parses upstreams and routes from the configuration, and tests each route's templates with all params of its model.
 * @throws ConfigError that names the variable.
 */
export function parseUpstreams(settings: Config, catalog: Catalog = parseCatalog(settings)): UpstreamConfig {
  const declared = parseUpstreamsVariable(settings.UPSTREAMS);
  const parsed: UpstreamConfig = {
    upstreams: readUpstreams(settings, declared),
    modelOverrides: declared.models ?? {},
    routes: {},
  };
  for (const name of Object.keys(parsed.modelOverrides)) {
    if (parsed.upstreams.has(name.slice(0, name.indexOf(':')))) continue;
    throw new ConfigError(`UPSTREAMS/models/${name} must begin with the name of an upstream and a colon.`);
  }
  for (const model of catalog.models) {
    const routes: UpstreamRoute[] = [];
    parsed.routes[model.slug] = routes;
    for (const { variable, value } of listRouteTexts(settings, model)) {
      const isTwice = routes.some(({ upstream, modelId }) => `${upstream.name}:${modelId}` === value);
      if (isTwice) throw new ConfigError(`${variable} must differ from the first choice.`);
      routes.push(readRoute(parsed, model, variable, value));
    }
  }
  return parsed;
}

/** Lists the choices of a model, each with the place that defines it. */
function listRouteTexts(settings: Config, { slug, upstreams }: CatalogModel): { variable: string; value: string }[] {
  if (upstreams !== null)
    return upstreams.map((value, index) => ({ variable: `CATALOG/models/${slug}/upstreams/${index}`, value }));
  return (ROUTE_VARIABLES[slug as keyof typeof ROUTE_VARIABLES] ?? []).flatMap((variable) => {
    const value = settings[variable];
    return value === undefined ? [] : [{ variable, value }];
  });
}

function readRoute(partialConfig: UpstreamConfig, model: CatalogModel, variable: string, value: string): UpstreamRoute {
  const colon = value.indexOf(':');
  const route = findUpstreamRoute(model, value.slice(0, colon), value.slice(colon + 1), partialConfig);
  if (route === undefined || isTestUpstream(route.upstream)) {
    const names = [...partialConfig.upstreams.keys()].filter((name) => name !== TEST_UPSTREAM_NAME).join(', ');
    throw new ConfigError(`${variable} must begin with the name of an upstream (${names}) and a colon.`);
  }
  requireDescribed(route, variable);
  requireImagesUsed(route, model);
  checkRoute(route, model, variable, value);
  return route;
}

/** Requires that the description of a provider says how it makes what a model makes. */
function requireDescribed({ upstream: { name, protocol }, kind, modelId }: UpstreamRoute, variable: string): void {
  if (protocol === undefined) return;
  const place = `the description of the upstream ${name}`;
  if (protocol[kind] === undefined) throw new ConfigError(`${variable} cannot be used: ${place} makes no ${kind}s.`);
  if (parseModelId(protocol, modelId) === undefined)
    throw new ConfigError(`${variable} cannot be used: by ${place}, its model id must be ${protocol.model}.`);
}

/**
 * Tests the templates of a route with the values of the model's params.
 * @throws ConfigError
 */
function checkRoute(route: UpstreamRoute, model: CatalogModel, variable: string, value: string): void {
  const place = model.upstreams === null ? `UPSTREAMS/models/${value}` : `${variable} (UPSTREAMS/models/${value})`;
  for (const params of listRouteParams(route, model.definition, place))
    for (const images of listSampleImages(model.inputs)) {
      try {
        const variables = { prompt: SAMPLE_PROMPT, ...params, ...buildImageVariables(model.inputs, images) };
        const input = buildUpstreamInput(route, variables);
        if (!JSON.stringify(input).includes(SAMPLE_PROMPT)) throw new Error('the input does not contain the prompt');
        const problem = findInputProblem(route, input, countRouteOutputs(route, variables));
        if (problem !== undefined) throw new Error(problem);
        computeCostCents(route, variables);
      } catch (error) {
        const request = `${JSON.stringify(params)}${images.length > 0 ? ' with images' : ''}`;
        throw new ConfigError(`${place} does not fit ${request}: ${(error as Error).message}.`);
      }
    }
}

/** Lists the params with which a route is tested: with every entry of its tables. */
function listRouteParams(
  { modelSettings }: UpstreamRoute,
  definition: ModelDefinition,
  place: string,
): GenerationParams[] {
  const tables = Object.values(modelSettings).flatMap((template) => listTableVariables(template));
  const wide = tables.flat().find((name) => {
    const param = definition.params[name];
    return param !== undefined && !isListable(param);
  });
  if (wide !== undefined)
    throw new ConfigError(`${place} does not fit: "${wide}" has too many values to select an entry of a table.`);
  try {
    return listParams(definition, tables);
  } catch (error) {
    throw new ConfigError(`${place} does not fit: ${(error as Error).message}.`);
  }
}

/** @throws ConfigError if a route does not send an image that its model takes. */
function requireImagesUsed(route: UpstreamRoute, { slug, inputs, definition }: CatalogModel): void {
  const [params = {}] = listParams(definition);
  for (const name of Object.keys(inputs)) {
    const images = buildSampleImages(inputs, name);
    const variables = { prompt: SAMPLE_PROMPT, ...params, ...buildImageVariables(inputs, images) };
    const path = `CATALOG/models/${slug}/inputs/${name}`;
    const place = `UPSTREAMS/models/${route.upstream.name}:${route.modelId}/input`;
    const { role } = inputs[name] as ModelInput;
    let input: string;
    try {
      input = JSON.stringify(buildUpstreamInput(route, variables));
    } catch (error) {
      throw new ConfigError(`${path} does not fit ${place}: ${(error as Error).message}.`);
    }
    const unused = images.findIndex(({ url }) => !input.includes(url));
    if (unused === -1) continue;
    const variable = unused === 0 ? role : `reference_${unused + 1}`;
    throw new ConfigError(`${path} is not used: ${place} must contain "$${variable}".`);
  }
}

/** Returns the route to a model of an upstream, or undefined if the upstream is not configured. */
export function findUpstreamRoute(
  { slug: model, kind, optionalParams = [], inputs = {}, definition }: RoutedModel,
  upstreamName: string,
  modelId: string,
  { upstreams, modelOverrides }: UpstreamConfig = upstreamConfig(),
): UpstreamRoute | undefined {
  const upstream = upstreams.get(upstreamName);
  if (upstream === undefined) return undefined;
  const preset = findPreset(upstream, kind, modelId, inputs);
  const modelSettings = Object.assign({}, preset, modelOverrides[`${upstreamName}:${modelId}`]);
  return { model, kind, upstream, modelId, modelSettings, optionalParams, inputs, outputs: definition?.outputs };
}

/** Returns the settings of a model that UPSTREAMS does not define. */
function findPreset(
  upstream: UpstreamSettings,
  kind: ModelKind,
  modelId: string,
  inputs: Readonly<Record<string, ModelInput>>,
): UpstreamModelSettings {
  const { adapter, protocol } = upstream;
  if (adapter === 'http')
    return { input: protocol?.[kind]?.input ?? { prompt: '$prompt' }, ...protocol?.models?.[modelId] };
  const preset = MODEL_PRESETS[`${adapter}:${modelId}`];
  const template = preset?.input ?? (isTestUpstream(upstream) ? TEST_INPUT : DEFAULT_INPUTS[adapter][kind]);
  return { ...preset, input: addImageFields(template, adapter, kind, inputs) };
}

/** Returns the route of a model for test accounts, or undefined without TEST_UPSTREAM_URL. */
export function findTestRoute(model: RoutedModel): UpstreamRoute | undefined {
  return findUpstreamRoute(model, TEST_UPSTREAM_NAME, TEST_MODEL_IDS[model.kind]);
}

/** Placeholder for a customer's prompt. */
const SAMPLE_PROMPT = 'a prompt of a customer';

/** Upper bound of seeds, which every program can store as a number. */
const SEED_MAX = 2 ** 31;

/** Builds the input that the upstream receives for a generation. */
export function buildUpstreamInput(
  { modelSettings, optionalParams, upstream, kind }: UpstreamRoute,
  variables: TemplateVariables,
): Record<string, unknown> {
  const own =
    upstream.adapter === 'http'
      ? { ...NO_IMAGES, with_images: hasImages(variables), random_seed: randomInt(SEED_MAX) }
      : {};
  const input = fillTemplate(modelSettings.input, { ...own, ...listAbsent(optionalParams), ...variables });
  if (typeof input === 'object' && input !== null && !Array.isArray(input))
    return { ...input, ...(isTestUpstream(upstream) ? pickTestParams(kind, variables) : {}) };
  throw new Error(`the input must be an object, not ${JSON.stringify(input)}`);
}

/** Computes the price of a completed run, in cents with at most four decimals; null if no price is known. */
export function computeCostCents(route: UpstreamRoute, params: TemplateVariables): number | null {
  const { modelSettings, optionalParams } = route;
  const variables = { ...listAbsent(optionalParams), ...params };
  const { cents, cents_per_second: perSecond } = modelSettings;
  if (cents === undefined && perSecond === undefined) return null;
  const centsPerSecond = requirePrice(fillTemplate(perSecond ?? 0, variables));
  const seconds = centsPerSecond === 0 ? 0 : variables['duration'];
  if (typeof seconds !== 'number') throw new Error('cents_per_second requires the parameter "duration", a number');
  const sum = requirePrice(fillTemplate(cents ?? 0, variables)) + seconds * centsPerSecond;
  return Math.round(sum * countRouteOutputs(route, variables) * 10_000) / 10_000;
}

/** Returns the number of files that a customer has paid for. */
export const countRouteOutputs = ({ outputs, optionalParams }: UpstreamRoute, params: TemplateVariables): number =>
  countOutputs(outputs, { ...listAbsent(optionalParams), ...params });

const listAbsent = (names: readonly string[]): TemplateVariables =>
  Object.fromEntries(names.map((name) => [name, null]));

function requirePrice(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= PRICE_MAX_CENTS) return value;
  throw new Error(`a price must be a number from 0 to ${PRICE_MAX_CENTS}, not ${JSON.stringify(value)}`);
}

const upstreamConfig = perService(() => parseUpstreams(config, getCatalog()));

/** Returns the first choice and the optional fallback of each model. */
export function getUpstreamRoutes(): Readonly<Record<ModelSlug, readonly UpstreamRoute[]>> {
  return upstreamConfig().routes;
}

/** Returns the settings of an upstream, or undefined if it is not configured. */
export function findUpstreamSettings(name: string): UpstreamSettings | undefined {
  return upstreamConfig().upstreams.get(name);
}

/** Returns the settings of all configured upstreams. */
export function listUpstreamSettings(): UpstreamSettings[] {
  return [...upstreamConfig().upstreams.values()];
}

/**
 * Returns the routes of a model of another release, with their positions. Leaves out those that this configuration does
 * not support.
 */
export function findReleaseRoutes(model: CatalogModel): [position: number, route: UpstreamRoute][] {
  const parsed = upstreamConfig();
  return listRouteTexts(config, model).flatMap(({ variable, value }, position) => {
    try {
      return [[position, readRoute(parsed, model, variable, value)]];
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  });
}

/** Fields for the number of files. The provider bills for each, so the customer pays for each. */
const COUNT_FIELDS = ['n', 'num_images', 'num_outputs'];

interface BuiltInput {
  upstream: Pick<UpstreamSettings, 'adapter' | 'protocol'>;
  kind: ModelKind;
  modelId: string;
}

/** Returns why an upstream would reject an input, or make files that are not used; undefined if nothing is known. */
function findInputProblem(
  { upstream, kind, modelId }: BuiltInput,
  input: Record<string, unknown>,
  outputs: number,
): string | undefined {
  const countField = COUNT_FIELDS.find((field) => field in input && Number(input[field]) !== outputs);
  if (countField !== undefined)
    return `"${countField}" is ${String(input[countField])}, but "outputs" of the model is ${outputs}: the customer pays for each file that the provider bills for`;
  if (outputs > 1 && takesOneFile(upstream, kind))
    return `"outputs" must be 1, because the adapter ${upstream.adapter} takes one file of a response`;
  const { size } = input;
  const isSized = upstream.adapter === 'openai' && kind === 'image' && typeof size === 'string' && size !== 'auto';
  if (!isSized || isGptImageSize(modelId, size)) return undefined;
  return `${modelId} does not make images of ${size}`;
}

/** Returns whether the file of a run is a response, so that there is one. */
function takesOneFile({ adapter, protocol }: BuiltInput['upstream'], kind: ModelKind): boolean {
  const { submit, poll } = protocol?.[kind] ?? {};
  const output = submit?.output ?? poll?.output;
  return (['openai', 'fal'].includes(adapter) && kind === 'video') || (output !== undefined && output.at === undefined);
}

/** Sizes of gpt-image-1, gpt-image-1.5 and gpt-image-1-mini. */
const FIXED_SIZES = ['1024x1024', '1536x1024', '1024x1536'];
/** Limits of gpt-image-2 and its successors, for sizes whose sides are multiples of 16. */
const FREE_SIZES = { longSideMax: 3840, ratioMax: 3, pixelsMin: 655_360, pixelsMax: 3840 * 2160 };

/** Returns whether a model of OpenAI makes images of a size; true for models whose sizes are not known. */
function isGptImageSize(modelId: string, size: string): boolean {
  const generation = /(?:^|\/)gpt-image-(\d+)/.exec(modelId)?.[1];
  if (generation === undefined) return true;
  if (generation === '1') return FIXED_SIZES.includes(size);
  const [width = 0, height = 0] = size.split('x').map(Number);
  const { longSideMax, ratioMax, pixelsMin, pixelsMax } = FREE_SIZES;
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const isWithin = width * height >= pixelsMin && width * height <= pixelsMax && long <= longSideMax;
  return isWithin && long <= ratioMax * short && width % 16 === 0 && height % 16 === 0;
}
