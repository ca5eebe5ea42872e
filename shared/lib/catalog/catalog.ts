import { type CatalogModel, DEFAULT_MODELS } from '../../spec/catalog.ts';
import { DEFAULT_PLANS, type Plan } from '../../spec/plans.ts';
import { perService } from '../serviceScope.ts';
import { buildModel } from './models.ts';

export type { CatalogModel, ModelInput } from '../../spec/catalog.ts';
export type { Plan } from '../../spec/plans.ts';

/** Models and plans on sale. */
export interface Catalog {
  /** In the order of `sort_order`. */
  readonly models: readonly CatalogModel[];
  readonly modelsBySlug: ReadonlyMap<string, CatalogModel>;
  readonly plans: readonly Plan[];
  readonly plansBySlug: ReadonlyMap<string, Plan>;
}

/** Parses the catalog of a configuration. */
export function parseCatalog(): Catalog {
  const models = Object.entries(DEFAULT_MODELS).map(([slug, definition]) => buildModel(slug, definition));
  return {
    models,
    modelsBySlug: new Map(models.map((model) => [model.slug, model])),
    plans: DEFAULT_PLANS,
    plansBySlug: new Map(DEFAULT_PLANS.map((plan) => [plan.slug, plan])),
  };
}

/** Returns the catalog of the service. */
export const getCatalog: () => Catalog = perService(() => parseCatalog());

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

/** @throws Error when no such plan exists: a slug is validated, or was stored by us, before it gets here. */
export function getPlanBySlug(slug: string): Plan {
  const plan = getCatalog().plansBySlug.get(slug);
  if (plan === undefined) throw new Error(`No plan is called ${slug}.`);
  return plan;
}

/** Returns true if a model takes images. */
export function hasImageModels(): boolean {
  return getCatalog().models.some(({ inputs }) => Object.keys(inputs).length > 0);
}
