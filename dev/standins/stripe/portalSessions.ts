import type Stripe from 'stripe';
import { type Books, idIn, made } from './books.ts';
import type { Params } from './form.ts';
import { Refusal } from './refusal.ts';
import { isOver, itemOf } from './subscriptions.ts';

export function openPortal(books: Books, params: Params): Stripe.BillingPortal.Session {
  params.only('customer', 'return_url', 'flow_data', 'configuration', 'locale', 'on_behalf_of', 'expand');
  const customer = books.get('customer', params.required('customer'), 'customer').id;
  const configuration = configurationFor(books, params.text('configuration'));
  const id = books.newId('bps');
  return books.add<'billing_portal.session'>(
    made<Stripe.BillingPortal.Session>({
      id,
      object: 'billing_portal.session',
      configuration: configuration.id,
      created: books.now(),
      customer,
      flow: params.has('flow_data') ? flowIn(books, params.at('flow_data'), customer, configuration) : null,
      livemode: false,
      locale: null,
      on_behalf_of: null,
      return_url: params.has('return_url') ? params.url('return_url') : null,
      url: `${books.url}/portal/${id}`,
    }),
  );
}

function configurationFor(books: Books, id: string | undefined): Stripe.BillingPortal.Configuration {
  if (id !== undefined) return books.get('billing_portal.configuration', id, 'configuration');
  const preset = books.list('billing_portal.configuration').find(({ is_default }) => is_default);
  if (preset !== undefined) return preset;
  const message = 'No configuration provided and your test mode default configuration has not been created.';
  throw new Refusal(400, { message });
}

function flowIn(
  books: Books,
  params: Params,
  customer: string,
  { features }: Stripe.BillingPortal.Configuration,
): Stripe.BillingPortal.Session.Flow {
  params.only('type', 'after_completion', 'subscription_update_confirm');
  const type = params.choice('type', 'subscription_update_confirm', 'payment_method_update') ?? params.required('type');
  if (params.has('after_completion')) {
    const completion = params.at('after_completion').only('type', 'redirect', 'hosted_confirmation');
    if (completion.required('type') === 'redirect') completion.at('redirect').url('return_url');
  }
  if (type !== 'subscription_update_confirm') return made<Stripe.BillingPortal.Session.Flow>({ type });

  const order = params.at('subscription_update_confirm').only('subscription', 'items', 'discounts');
  const subscription = books.get(
    'subscription',
    order.required('subscription'),
    'flow_data[subscription_update_confirm][subscription]',
  );
  if (idIn(subscription.customer) !== customer || isOver(subscription)) {
    order.refuse('subscription', 'This subscription cannot be updated by this customer.');
  }
  if (books.refusesSwitchWhileScheduled && subscription.schedule !== null) {
    order.refuse(
      'subscription',
      'This subscription cannot be updated because it is managed by a subscription schedule.',
    );
  }
  const [line] = order.items('items');
  const price = books.get('price', line?.required('price'), 'flow_data[subscription_update_confirm][items][0][price]');
  if (line?.required('id') !== itemOf(subscription).id) order.refuse('items', 'No such item of this subscription.');
  const update = features.subscription_update;
  if (!update?.enabled)
    order.refuse('subscription', 'The subscription update feature is disabled in the portal configuration.');
  if (update.products?.some(({ prices }) => prices.includes(price.id)) !== true) {
    order.refuse('items', 'This price is not in the portal configuration.');
  }
  if (price.id === itemOf(subscription).price.id) order.refuse('items', 'This is what the subscription has already.');
  const items = [
    made<never>({ id: itemOf(subscription).id, price: price.id, quantity: line?.integer('quantity') ?? 1 } as never),
  ];
  return made<Stripe.BillingPortal.Session.Flow>({
    type,
    after_completion: { type: 'redirect', hosted_confirmation: null, redirect: null },
    subscription_update_confirm: { discounts: null, items, subscription: subscription.id },
  });
}
