import { randomUUID } from 'node:crypto';
import { type HttpRoute, type Route as ServedRoute, toRoute } from '../../api/pipeline/route.ts';
import { HTTP_ROUTES, LOCAL_SIGN_IN_ROUTES } from '../../api/router.ts';

/** Credential of a route: that of programs, or of people. */
export type CredentialKind =
  | 'public'
  | 'key/cookie'
  | 'cookie'
  | 'staff'
  | 'token/key'
  | 'visitor'
  | 'member'
  | 'operator'
  | 'link';

function getCredentialKind({ surface, credential, permission }: ServedRoute): CredentialKind {
  const isStaff = permission !== undefined;
  if (surface === 'mcp') return 'token/key';
  if (credential === 'visitor') return 'visitor';
  if (surface === 'page') return credential === 'anyone' ? 'link' : isStaff ? 'operator' : 'member';
  if (credential === 'anyone') return 'public';
  return isStaff ? 'staff' : credential === 'session' ? 'cookie' : 'key/cookie';
}

/** A row of the route table. */
export interface Route {
  served: ServedRoute;
  /** Method and path, such as `GET /api/keys/`. */
  name: string;
  method: string;
  path: string;
  credential: CredentialKind;
}

/** The routes of `api/router.ts`, with those of local sign-in. Method `*`: all methods of everything below the path. */
export const ALL_ROUTES: readonly Route[] = [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES].map((row: HttpRoute) => {
  const [method, path] = row;
  const served = toRoute(row);
  return { name: `${method} ${path}`, method, path, credential: getCredentialKind(served), served };
});

/** Routes that stand for one address. */
export const ROUTES = ALL_ROUTES.filter(({ method }) => method !== '*');

/** Lists the routes with one of these credentials. */
export function filterRoutes(...credentials: CredentialKind[]): Route[] {
  return ROUTES.filter(({ credential }) => credentials.includes(credential));
}

export const isChange = ({ method }: Pick<Route, 'method'>): boolean => method !== 'GET';

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
  'PATCH /api/members/:uuid/': { role: 'viewer' },
  'POST /api/invitations/create/': { email: 'invited@example.com', role: 'viewer' },
  'PATCH /authentication/me/': { first_name: 'a' },
  'POST /authentication/onboarding/advance/': { step_completed: 'profile' },
};
