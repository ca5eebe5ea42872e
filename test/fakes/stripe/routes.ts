import { connectRoutes } from './connectRoutes.ts';
import { customerRoutes } from './customerRoutes.ts';
import type { StripeHandler } from './handler.ts';
import { invoiceRoutes } from './invoiceRoutes.ts';
import { paymentRoutes } from './paymentRoutes.ts';
import { checkoutRoutes } from './checkoutRoutes.ts';
import { setupRoutes } from './setupRoutes.ts';
import { subscriptionRoutes } from './subscriptionRoutes.ts';

/** All routes of the fake API. */
const STRIPE_ROUTES = {
  ...customerRoutes,
  ...checkoutRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
  ...paymentRoutes,
  ...setupRoutes,
  ...connectRoutes,
} satisfies Record<string, [method: string, path: string, handler: StripeHandler]>;

/** Names of requests, for faults and the list of received requests. */
export type StripeRequestName = keyof typeof STRIPE_ROUTES;

export interface StripeRoute {
  name: StripeRequestName;
  handler: StripeHandler;
  id: string;
}

export function matchRoute(method: string, path: string): StripeRoute | undefined {
  const parts = path.split('/');
  for (const [name, [routeMethod, pattern, handler]] of Object.entries(STRIPE_ROUTES) as [
    StripeRequestName,
    [string, string, StripeHandler],
  ][]) {
    const wanted = pattern.split('/');
    if (routeMethod !== method || wanted.length !== parts.length) continue;
    if (!wanted.every((part, index) => part === ':id' || part === parts[index])) continue;
    return { name, handler, id: decodeURIComponent(parts[wanted.indexOf(':id')] ?? '') };
  }
  return undefined;
}
