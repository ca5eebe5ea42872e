import { isDeepStrictEqual } from 'node:util';
import type { CatalogModel } from '../../lib/catalog/catalog.ts';
import type { GenerationParams } from '../../spec/catalog.ts';
import type { Generation } from '../../tables/Generation.ts';
import { loadRelease } from '../catalog/releases.ts';
import type { ChargeRequest } from './chargeRequest.ts';

/**
 * Returns whether a request with the idempotency key of an earlier generation is the same request. A parameter that the
 * client leaves out has the default of the catalog at that time, so a default that a deployment has changed since does
 * not make a repeated request another one.
 */
export async function isSameRequest(first: Generation, charge: ChargeRequest): Promise<boolean> {
  return (
    first.model === charge.model &&
    first.prompt === charge.prompt &&
    first.webhook_url === (charge.webhook_url ?? null) &&
    isDeepStrictEqual(first.metadata, charge.metadata ?? null) &&
    (isDeepStrictEqual(first.params, charge.params) || (await differsInDefaultsOnly(first, charge)))
  );
}

/** Returns whether each parameter that differs has, in both requests, the default of its catalog. */
async function differsInDefaultsOnly(first: Generation, charge: ChargeRequest): Promise<boolean> {
  if (first.catalog_id === charge.catalog_id) return false;
  const [before, now] = await Promise.all([
    findReleasedModel(first.catalog_id, first.model),
    findReleasedModel(charge.catalog_id, charge.model),
  ]);
  if (before === undefined || now === undefined) return false;
  const names = new Set([...Object.keys(first.params), ...Object.keys(charge.params)]);
  return [...names].every(
    (name) =>
      isDeepStrictEqual(first.params[name], charge.params[name]) ||
      (isDefault(before, first.params, name) && isDefault(now, charge.params, name)),
  );
}

async function findReleasedModel(catalogId: number | null, slug: string): Promise<CatalogModel | undefined> {
  return (await loadRelease(catalogId))?.models.find((model) => model.slug === slug);
}

/** A parameter without a default may be absent. */
function isDefault({ definition }: CatalogModel, params: GenerationParams, name: string): boolean {
  return params[name] === definition.params[name]?.default;
}
