import type { CatalogModel, ModelKind } from '../../spec/catalog.ts';
import { perService } from '../serviceScope.ts';
import { getCatalog } from './catalog.ts';

/** Facts about a model that remain valid after it was removed from the catalog. */
export type ModelInfo = Pick<CatalogModel, 'slug' | 'name' | 'kind'>;

/** Models outside the catalog, as the domain has loaded them. */
const otherModels = perService(() => new Map<string, ModelInfo>());

/** Returns the name and kind of a model. @throws Error unless it is in the catalog or was remembered. */
export function getModelInfo(slug: string): ModelInfo {
  const model = findModelInfo(slug);
  if (model === undefined) throw new Error(`No model is called ${slug}.`);
  return model;
}

/** Returns the name and kind of a model of the catalog, or of another one that was remembered. */
export function findModelInfo(slug: string): ModelInfo | undefined {
  return getCatalog().modelsBySlug.get(slug) ?? otherModels().get(slug);
}

/** Remembers a model outside the catalog: one that was removed, or that another process sells. */
export function rememberModel({ slug, name, kind }: { slug: string; name: string; kind: ModelKind }): void {
  otherModels().set(slug, { slug, name, kind });
}

/** Lists all models outside the catalog that were remembered. */
export function listOtherModels(): ModelInfo[] {
  return [...otherModels().values()].filter(({ slug }) => !getCatalog().modelsBySlug.has(slug));
}
