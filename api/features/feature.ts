import type { TSchema } from 'typebox';
import type { Lazy } from '../lazy.ts';
import type { Endpoint } from '../pipeline/endpoint.ts';
import type { HttpRoute } from '../pipeline/route.ts';
import type { NavigationEntry, NoticeSource } from '../web/navigation.ts';

/** Everything that a subject has in the interface. */
export interface Feature {
  /** Group of its endpoints in the OpenAPI document. */
  tag?: { name: string; description: string };
  /** Schemas that have a name in the document. All others are written where they are used. */
  schemas?: Lazy<Readonly<Record<string, TSchema>>>;
  endpoints?: readonly Endpoint[];
  /** Addresses of files, and for other services. */
  routes?: readonly HttpRoute[];
  pages?: readonly HttpRoute[];
  /** Pages with a link in the navigation of the account area or the staff console. */
  navigation?: readonly NavigationEntry[];
  /** Trouble of an account that all of its pages show. */
  notices?: readonly NoticeSource[];
}

/** Returns the rows of a feature in the route table. */
export function listRoutes({ endpoints = [], routes = [], pages = [] }: Feature): readonly HttpRoute[] {
  return [...endpoints.map(toRoute), ...routes, ...pages];
}

function toRoute({ route, policy, readsBody, handler }: Endpoint): HttpRoute {
  const { surface = 'rest', credential = 'account', rateLimit = 'account', ...rest } = policy;
  const [method, path] = route.split(' ');
  const body = readsBody === true ? 'raw' : method === 'GET' ? 'none' : 'json';
  return [method, path, surface, credential, rateLimit, body, handler, rest] as HttpRoute;
}
