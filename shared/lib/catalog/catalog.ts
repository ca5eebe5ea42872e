import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import type { CatalogModel, ModelDefinition } from '../../spec/catalog.ts';
import { DEFAULT_MODELS } from '../../spec/defaultModels.ts';
import { ServiceError } from '../../spec/errors.ts';
import { DEFAULT_PLANS, type Plan } from '../../spec/plans.ts';
import { toCanonicalJson } from '../canonicalJson.ts';
import { config, type Config, ConfigError } from '../config.ts';
import { parseConfigJson, validateConfig } from '../configJson.ts';
import { perService } from '../serviceScope.ts';
import { buildModel } from './models.ts';
import { parseModels } from './parseModels.ts';
import { parsePlans } from './parsePlans.ts';

export type { CatalogModel, ModelInput } from '../../spec/catalog.ts';
export type { Plan } from '../../spec/plans.ts';

/** Models and plans on sale. */
export interface Catalog {
  /** In the order of `sort_order`. */
  readonly models: readonly CatalogModel[];
  readonly modelsBySlug: ReadonlyMap<string, CatalogModel>;
  readonly plans: readonly Plan[];
  readonly plansBySlug: ReadonlyMap<string, Plan>;
  /** Hash of the models: all that prices and runs of generations depend on. Below 2^53. */
  readonly releaseId: number;
  /** Release that a generation records; null for the default models. */
  readonly id: number | null;
}

/** Definitions of models by slug, as a release stores them. */
export type ModelDefinitions = Readonly<Record<string, ModelDefinition>>;

/**
 * Parses the catalog of a configuration. A missing half has its default.
 * @throws ConfigError with one sentence that names the path.
 */
export function parseCatalog(settings?: Pick<Config, 'CATALOG'>): Catalog {
  const { models, plans } = readCatalogJson(settings?.CATALOG);
  const parsedModels = models === undefined ? buildDefaultModels() : parseModels(models);
  const parsedPlans = plans === undefined ? DEFAULT_PLANS : parsePlans(plans);
  return buildCatalog(parsedModels, parsedPlans, models !== undefined);
}

/** Builds the models of a release. @throws ConfigError if this version does not support them. */
export function parseRelease(definitions: unknown): readonly CatalogModel[] {
  return parseModels(definitions);
}

export const buildDefaultModels = (): CatalogModel[] =>
  Object.entries(DEFAULT_MODELS).map(([slug, definition]) => buildModel(slug, definition));

function buildCatalog(models: readonly CatalogModel[], plans: readonly Plan[], isConfigured: boolean): Catalog {
  const releaseId = hashDefinitions(getDefinitions(models));
  return {
    models,
    modelsBySlug: new Map(models.map((model) => [model.slug, model])),
    plans,
    plansBySlug: new Map(plans.map((plan) => [plan.slug, plan])),
    releaseId,
    id: isConfigured ? releaseId : null,
  };
}

/** Returns the definitions of models, for their release. */
export function getDefinitions(models: readonly CatalogModel[]): ModelDefinitions {
  return Object.fromEntries(models.map(({ slug, definition }) => [slug, definition]));
}

/** Computes the id of a release: 53 bits, so that it is an exact number. */
function hashDefinitions(definitions: ModelDefinitions): number {
  const digest = createHash('sha256').update(toCanonicalJson(definitions)).digest();
  return Number(digest.readBigUInt64BE() >> 11n);
}

/**
 * Escapes that Postgres rejects in JSON: NUL, and lone surrogates, which are the only ones that are written as escapes.
 */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

const Halves = Type.Object(
  { models: Type.Optional(Type.Unknown()), plans: Type.Optional(Type.Unknown()) },
  { additionalProperties: false },
);

function readCatalogJson(text: string | undefined): Static<typeof Halves> {
  if (text === undefined) return {};
  const value = parseConfigJson('CATALOG', text);
  if (UNSTORABLE.test(JSON.stringify(value)))
    throw new ConfigError('CATALOG must not contain \\u0000 or half of a surrogate pair, which no database can store.');
  return validateConfig('CATALOG', value, Halves);
}

/** Returns the catalog of the service. */
export const getCatalog: () => Catalog = perService(() => parseCatalog(config));

/** Returns the slugs of all models, in the order of the catalog. */
export const getModelSlugs = (): string[] => getCatalog().models.map(({ slug }) => slug);

/** Returns the slugs of all plans, in the order of the catalog. */
export const getPlanSlugs = (): string[] => getCatalog().plans.map(({ slug }) => slug);

/** @throws Error when no such model exists: a slug is validated, or was stored by us, before it gets here. */
export function getModelBySlug(slug: string): CatalogModel {
  const model = getCatalog().modelsBySlug.get(slug);
  if (model === undefined) throw new Error(`No model is called ${slug}.`);
  return model;
}

/**
 * @throws ServiceError internal_error, temporary: a slug is validated, or was stored by us, before it gets here, so
 * that a process of a newer release has sold the plan.
 */
export function getPlanBySlug(slug: string): Plan {
  const plan = getCatalog().plansBySlug.get(slug);
  if (plan !== undefined) return plan;
  throw new ServiceError('internal_error', `The plan ${slug} is being released. Try again in a minute.`, {
    retryAfterSeconds: 60,
  });
}

/** Returns true if a model takes images. */
export function hasImageModels(): boolean {
  return getCatalog().models.some(({ inputs }) => Object.keys(inputs).length > 0);
}

/** Returns the models that are listed, in the order of the catalog. */
export function getOfferedModels({ models }: Catalog = getCatalog()): CatalogModel[] {
  return models.filter(({ hidden }) => !hidden);
}

/** Returns the plans on sale, in the order of the catalog. The subscribers of hidden ones keep them. */
export function getOfferedPlans({ plans }: Catalog = getCatalog()): readonly Plan[] {
  return plans.filter(({ hidden }) => !hidden);
}

/** Returns the plan that examples show: the recommended one, or the first. */
export function getExamplePlan(catalog: Catalog = getCatalog()): Plan {
  const offered = getOfferedPlans(catalog);
  return offered.find(({ highlight }) => highlight) ?? (offered[0] as Plan);
}
