import { ADMIN_DESCRIPTION } from '../admin/openapi.ts';
import { AFFILIATE_DESCRIPTION } from '../affiliate/openapi.ts';
import { API_KEYS_DESCRIPTION } from '../apiKeys/openapi.ts';
import { BILLING_DESCRIPTION } from '../billing/openapi.ts';
import { GENERATIONS_DESCRIPTION } from '../generations/openapi.ts';
import { HEALTH_DESCRIPTION } from '../health/openapi.ts';
import { MODELS_DESCRIPTION } from '../models/openapi.ts';
import { SESSION_DESCRIPTION } from '../session/openapi.ts';
import { USAGE_DESCRIPTION } from '../usage/openapi.ts';
import { WEBHOOKS_DESCRIPTION } from '../webhooks/openapi.ts';
import type { FeatureDescription, Operation } from './feature.ts';
import { OPENAPI_DESCRIPTION } from './openapi.ts';

export type TaggedOperation = Operation & { tag: string };

/** Descriptions of all REST routes, in the order of their tags. A test fails for a route without a description. */
export const FEATURES: readonly FeatureDescription[] = [
  GENERATIONS_DESCRIPTION,
  MODELS_DESCRIPTION,
  API_KEYS_DESCRIPTION,
  WEBHOOKS_DESCRIPTION,
  USAGE_DESCRIPTION,
  BILLING_DESCRIPTION,
  AFFILIATE_DESCRIPTION,
  ADMIN_DESCRIPTION,
  SESSION_DESCRIPTION,
  HEALTH_DESCRIPTION,
  OPENAPI_DESCRIPTION,
];

/** Returns the description of a route, with the name of its tag. */
export function findOperation(method: string, path: string): TaggedOperation | undefined {
  for (const { tag, operations } of FEATURES) {
    const operation = operations[`${method} ${path}`];
    if (operation !== undefined) return { ...operation, tag: tag.name };
  }
  return undefined;
}
