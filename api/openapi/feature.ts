import type { TSchema } from 'typebox';
import type { Endpoint, Lazy } from '../pipeline/endpoint.ts';
import type { HttpRoute } from '../pipeline/route.ts';

/** A group of endpoints: a tag in the document, and the schemas that have a name there. */
export interface Feature {
  tag: { name: string; description: string };
  /** All other schemas are written where they are used. */
  schemas?: Lazy<Readonly<Record<string, TSchema>>>;
  endpoints: readonly Endpoint[];
}

/** Returns the rows of a feature in the route table. */
export function toRoutes({ endpoints }: Feature): HttpRoute[] {
  return endpoints.map(({ route, policy, readsBody, handler }) => {
    const { surface = 'rest', credential = 'account', rateLimit = 'account', ...rest } = policy;
    const [method, path] = route.split(' ');
    const body = readsBody === true ? 'raw' : method === 'GET' ? 'none' : 'json';
    return [method, path, surface, credential, rateLimit, body, handler, rest] as HttpRoute;
  });
}
