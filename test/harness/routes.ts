import { randomUUID } from 'node:crypto';
import { HTTP_ROUTES, LOCAL_SIGN_IN_ROUTES } from '../../api/router.ts';

/** A row of the route table. */
export interface Route {
  /** Method and path, such as `GET /api/keys/`. */
  name: string;
  method: string;
  path: string;
  authentication: string;
}

/** The routes of `api/router.ts` that stand for one address, with those of local sign-in. */
export const ROUTES: readonly Route[] = [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES]
  .filter(([method]) => method !== '*')
  .map(([method, path, authentication]) => ({ name: `${method} ${path}`, method, path, authentication }));

/** Lists the routes with one of these values in the authentication column. */
export function filterRoutes(...authentications: string[]): Route[] {
  return ROUTES.filter(({ authentication }) => authentications.includes(authentication));
}

export const isChange = ({ method }: Route): boolean => method !== 'GET';

/** Fills a uuid into the path of a route, the same for all of its parameters. */
export function buildPath({ path }: Pick<Route, 'path'>, uuid: string = randomUUID()): string {
  return path.replace(':uuid', uuid).replace(':delivery', uuid);
}

/** A valid body for each route whose body has fields. */
export const VALID_BODIES: Readonly<Record<string, object>> = {
  'POST /api/generations/create/': { model: 'imgmodel-2', prompt: 'a', params: { resolution: '1K' } },
  'POST /api/generations/estimate/': { model: 'imgmodel-2', prompt: 'a', params: { resolution: '1K' } },
  'POST /api/keys/create/': { name: 'a' },
  'PATCH /api/keys/:uuid/': { name: 'a' },
  'POST /api/webhooks/create/': { url: 'https://example.com/webhooks' },
  'PATCH /api/webhooks/:uuid/': { description: 'a' },
  'POST /api/billing/checkout/': { plan: 'studio' },
  'POST /api/billing/topup/': { amount_cents: 5_000 },
  'PATCH /api/billing/topup/settings/': { auto_topup_amount_cents: 6_000 },
  'PATCH /api/notifications/settings/': { credits_low_threshold: 5 },
  'PATCH /authentication/me/': { first_name: 'a' },
  'POST /authentication/onboarding/advance/': { step_completed: 'profile' },
};
