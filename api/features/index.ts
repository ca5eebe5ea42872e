import type { Feature } from '../openapi/feature.ts';
import type { Endpoint } from '../pipeline/endpoint.ts';
import { ADMIN } from './admin/endpoints.ts';
import { AFFILIATE } from './affiliate/endpoints.ts';
import { API_KEYS } from './apiKeys/endpoints.ts';
import { BILLING } from './billing/endpoints.ts';
import { GENERATIONS } from './generations/endpoints.ts';
import { SERVICE } from './health/endpoints.ts';
import { MODELS } from './models/endpoints.ts';
import { NOTIFICATIONS } from './notifications/endpoints.ts';
import { LOCAL_SIGN_IN, SESSION } from './session/endpoints.ts';
import { UPLOADS } from './uploads/endpoints.ts';
import { USAGE } from './usage/endpoints.ts';
import { WEBHOOKS } from './webhooks/endpoints.ts';

/** All features, in the order of their tags in the OpenAPI document. */
export const FEATURES: readonly Feature[] = [
  GENERATIONS,
  MODELS,
  UPLOADS,
  API_KEYS,
  WEBHOOKS,
  USAGE,
  BILLING,
  NOTIFICATIONS,
  AFFILIATE,
  ADMIN,
  SESSION,
  LOCAL_SIGN_IN,
  SERVICE,
];

const ENDPOINTS = new Map<string, { tag: string; endpoint: Endpoint }>(
  FEATURES.flatMap(({ tag, endpoints }) =>
    endpoints.map((endpoint) => [endpoint.route, { tag: tag.name, endpoint }] as const),
  ),
);

/** Finds an endpoint by its method and path. */
export function findEndpoint(route: string): { tag: string; endpoint: Endpoint } | undefined {
  return ENDPOINTS.get(route);
}
