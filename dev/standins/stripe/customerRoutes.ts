import { addCustomer, paymentMethodsOf } from './customers.ts';
import { PAGE_PARAMS, page, retrieve } from './pages.ts';
import type { Handler } from './routes.ts';

type Routes = Record<`customers.${string}`, [string, string, Handler]>;

export const customerRoutes = {
  'customers.create': [
    'POST',
    '/v1/customers',
    (books, params) => {
      params.only('email', 'name', 'description', 'metadata', 'expand');
      return addCustomer(books, params.text('email') ?? null, params.metadata());
    },
  ],
  'customers.retrieve': [
    'GET',
    '/v1/customers/:id',
    (books, params, id) =>
      books.deletedCustomers.has(id)
        ? { id, object: 'customer', deleted: true }
        : retrieve('customer')(books, params, id),
  ],
  'customers.listPaymentMethods': [
    'GET',
    '/v1/customers/:id/payment_methods',
    (books, params, id) => {
      params.only(...PAGE_PARAMS, 'type', 'allow_redisplay');
      books.get('customer', id, 'customer');
      const mine = new Set(paymentMethodsOf(books, id));
      const type = params.text('type');
      return page(
        books,
        'payment_method',
        params,
        `/v1/customers/${id}/payment_methods`,
        (method) => mine.has(method) && (type === undefined || method.type === type),
      );
    },
  ],
} satisfies Routes;
