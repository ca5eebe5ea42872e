import type { Books } from './books.ts';
import { connectRoutes } from './connectRoutes.ts';
import { customerRoutes } from './customerRoutes.ts';
import type { Params } from './form.ts';
import { paymentRoutes } from './paymentRoutes.ts';
import { sessionRoutes } from './sessionRoutes.ts';
import { setupRoutes } from './setupRoutes.ts';
import { subscriptionRoutes } from './subscriptionRoutes.ts';

/** @param id what stands in the place of `:id`. @returns what is answered with. @throws Refusal */
export type Handler = (books: Books, params: Params, id: string) => unknown;

/** What the stand-in serves. */
const ROUTES = {
  ...customerRoutes,
  ...sessionRoutes,
  ...subscriptionRoutes,
  ...paymentRoutes,
  ...setupRoutes,
  ...connectRoutes,
} satisfies Record<string, [method: string, path: string, handler: Handler]>;

/** How faults and the record of requests name them. */
export type RequestName = keyof typeof ROUTES;

export interface Route {
  name: RequestName;
  handler: Handler;
  id: string;
}

export function routeOf(method: string, path: string): Route | undefined {
  const parts = path.split('/');
  for (const [name, [routeMethod, pattern, handler]] of Object.entries(ROUTES) as [
    RequestName,
    [string, string, Handler],
  ][]) {
    const wanted = pattern.split('/');
    if (routeMethod !== method || wanted.length !== parts.length) continue;
    if (!wanted.every((part, index) => part === ':id' || part === parts[index])) continue;
    return { name, handler, id: decodeURIComponent(parts[wanted.indexOf(':id')] ?? '') };
  }
  return undefined;
}
