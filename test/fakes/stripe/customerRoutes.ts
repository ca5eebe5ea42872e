import type Stripe from 'stripe';
import { addCustomer, listPaymentMethods } from './customers.ts';
import { LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import type { StripeHandler } from './handler.ts';
import { getId } from './store.ts';
import { endSubscription, isEnded } from './subscriptions.ts';

type Routes = Record<`customers.${string}`, [string, string, StripeHandler]>;

export const customerRoutes = {
  'customers.create': [
    'POST',
    '/v1/customers',
    (store, params) => {
      params.allowOnly<Stripe.CustomerCreateParams>('email', 'name', 'description', 'metadata', 'expand');
      return addCustomer(store, params.text('email') ?? null, params.metadata());
    },
  ],
  'customers.retrieve': [
    'GET',
    '/v1/customers/:id',
    (store, params, id) =>
      store.deletedCustomers.has(id)
        ? { id, object: 'customer', deleted: true }
        : retrieveObject('customer')(store, params, id),
  ],
  'customers.delete': [
    'DELETE',
    '/v1/customers/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.CustomerDeleteParams>();
      store.get('customer', id);
      // Stripe cancels the subscriptions of a deleted customer immediately.
      for (const subscription of store.list('subscription')) {
        if (getId(subscription.customer) === id && !isEnded(subscription))
          endSubscription(store, subscription, 'cancellation_requested');
      }
      store.remove(id);
      store.deletedCustomers.add(id);
      return { id, object: 'customer', deleted: true };
    },
  ],
  'customers.listPaymentMethods': [
    'GET',
    '/v1/customers/:id/payment_methods',
    (store, params, id) => {
      params.allowOnly<Stripe.CustomerListPaymentMethodsParams>(...LIST_PARAMS, 'type', 'allow_redisplay');
      store.get('customer', id, 'customer');
      const mine = new Set(listPaymentMethods(store, id));
      const type = params.text('type');
      return listObjects(
        store,
        'payment_method',
        params,
        `/v1/customers/${id}/payment_methods`,
        (method) => mine.has(method) && (type === undefined || method.type === type),
      );
    },
  ],
} satisfies Routes;
