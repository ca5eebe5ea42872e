import type { Feature } from '../openapi/feature.ts';
import type { Endpoint } from '../pipeline/endpoint.ts';
import { GENERATIONS_PAGES } from './generations/pages/routes.ts';
import { API_KEYS_PAGES } from './apiKeys/pages/routes.ts';
import { USAGE_PAGES } from './usage/pages/routes.ts';
import { WEBHOOKS_PAGES } from './webhooks/pages/routes.ts';
import { BILLING_PAGES } from './billing/pages/routes.ts';
import { NOTIFICATIONS_PAGES } from './notifications/pages/routes.ts';
import { AFFILIATE_PAGES } from './affiliate/pages/routes.ts';
import { STAFF_PAGES } from './staff/pages/routes.ts';
import { LOCAL_SIGN_IN_PAGES, SIGN_IN_PAGES } from './signIn/pages/routes.ts';
import { ACCOUNT_PAGES } from './account/pages/routes.ts';
import { AFFILIATE } from './affiliate/endpoints.ts';
import { API_KEYS } from './apiKeys/endpoints.ts';
import { APPLICATIONS_PAGES } from './applications/pages/routes.ts';
import { BILLING } from './billing/endpoints.ts';
import { CONNECT_PAGES } from './connect/pages/routes.ts';
import { GENERATIONS } from './generations/endpoints.ts';
import { SERVICE } from './health/endpoints.ts';
import { MODELS } from './models/endpoints.ts';
import { NOTIFICATIONS } from './notifications/endpoints.ts';
import { PRIVACY_PAGES } from './privacy/pages/routes.ts';
import { LOCAL_SESSION, SESSION } from './signIn/endpoints.ts';
import { ADMIN } from './staff/endpoints.ts';
import { UPLOADS } from './uploads/endpoints.ts';
import { USAGE } from './usage/endpoints.ts';
import { WEBHOOKS } from './webhooks/endpoints.ts';

/** All features, in the order of their tags in the OpenAPI document. */
export const FEATURES: readonly Feature[] = [
  { ...GENERATIONS, pages: GENERATIONS_PAGES },
  UPLOADS,
  MODELS,
  { ...API_KEYS, pages: API_KEYS_PAGES },
  { ...USAGE, pages: USAGE_PAGES },
  { ...WEBHOOKS, pages: WEBHOOKS_PAGES },
  { ...BILLING, pages: BILLING_PAGES },
  { ...NOTIFICATIONS, pages: NOTIFICATIONS_PAGES },
  { ...AFFILIATE, pages: AFFILIATE_PAGES },
  { ...ADMIN, pages: STAFF_PAGES },
  SERVICE,
  { ...SESSION, pages: SIGN_IN_PAGES },
  { routes: ACCOUNT_PAGES },
  { routes: APPLICATIONS_PAGES },
  { routes: CONNECT_PAGES },
  { routes: PRIVACY_PAGES },
];

/** The sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN: Feature = { ...LOCAL_SESSION, pages: LOCAL_SIGN_IN_PAGES };

const ENDPOINTS = new Map<string, { tag: string; endpoint: Endpoint }>(
  [...FEATURES, LOCAL_SIGN_IN].flatMap(({ tag, endpoints = [] }) =>
    endpoints.map((endpoint) => [endpoint.route, { tag: tag?.name ?? '', endpoint }] as const),
  ),
);

/** Finds an endpoint by its method and path. */
export function findEndpoint(route: string): { tag: string; endpoint: Endpoint } | undefined {
  return ENDPOINTS.get(route);
}
