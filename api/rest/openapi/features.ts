import { perService } from '../../../shared/lib/serviceScope.ts';
import { describeAdmin } from '../admin/openapi.ts';
import { AFFILIATE_DESCRIPTION } from '../affiliate/openapi.ts';
import { describeApiKeys } from '../apiKeys/openapi.ts';
import { describeBilling } from '../billing/openapi.ts';
import { describeGenerations } from '../generations/openapi.ts';
import { HEALTH_DESCRIPTION } from '../health/openapi.ts';
import { describeModels } from '../models/openapi.ts';
import { NOTIFICATIONS_DESCRIPTION } from '../notifications/openapi.ts';
import { describeSession } from '../session/openapi.ts';
import { UPLOADS_DESCRIPTION } from '../uploads/openapi.ts';
import { describeUsage } from '../usage/openapi.ts';
import { WEBHOOKS_DESCRIPTION } from '../webhooks/openapi.ts';
import type { FeatureDescription, Operation } from './feature.ts';
import { OPENAPI_DESCRIPTION } from './openapi.ts';

export type TaggedOperation = Operation & { tag: string };

/** Descriptions of all REST routes, in the order of their tags. A test fails for a route without a description. */
export const getFeatures: () => readonly FeatureDescription[] = perService(() => [
  describeGenerations(),
  describeModels(),
  UPLOADS_DESCRIPTION,
  describeApiKeys(),
  WEBHOOKS_DESCRIPTION,
  describeUsage(),
  describeBilling(),
  NOTIFICATIONS_DESCRIPTION,
  AFFILIATE_DESCRIPTION,
  describeAdmin(),
  describeSession(),
  HEALTH_DESCRIPTION,
  OPENAPI_DESCRIPTION,
]);

/** Returns the description of a route, with the name of its tag. */
export function findOperation(method: string, path: string): TaggedOperation | undefined {
  for (const { tag, operations } of getFeatures()) {
    const operation = operations[`${method} ${path}`];
    if (operation !== undefined) return { ...operation, tag: tag.name };
  }
  return undefined;
}
