import type Stripe from 'stripe';
import { type StripeStore, getId, fromFields } from './store.ts';
import type { StripeParams } from './params.ts';
import { StripeApiError } from './stripeApiError.ts';
import { isEnded, getItem } from './subscriptions.ts';

export function createPortalSession(store: StripeStore, params: StripeParams): Stripe.BillingPortal.Session {
  params.allowOnly<Stripe.BillingPortal.SessionCreateParams>(
    'customer',
    'return_url',
    'flow_data',
    'configuration',
    'locale',
    'on_behalf_of',
    'expand',
  );
  const customer = store.get('customer', params.required('customer'), 'customer').id;
  const configuration = findPortalConfiguration(store, params.text('configuration'));
  const id = store.newId('bps');
  return store.add<'billing_portal.session'>(
    fromFields<Stripe.BillingPortal.Session>({
      id,
      object: 'billing_portal.session',
      configuration: configuration.id,
      created: store.now(),
      customer,
      flow: params.has('flow_data')
        ? parsePortalFlow(store, params.nested('flow_data'), customer, configuration)
        : null,
      livemode: false,
      locale: null,
      on_behalf_of: null,
      return_url: params.has('return_url') ? params.url('return_url') : null,
      url: `${store.url}/portal/${id}`,
    }),
  );
}

function findPortalConfiguration(store: StripeStore, id: string | undefined): Stripe.BillingPortal.Configuration {
  if (id !== undefined) return store.get('billing_portal.configuration', id, 'configuration');
  const preset = store.list('billing_portal.configuration').find(({ is_default }) => is_default);
  if (preset !== undefined) return preset;
  const message = 'No configuration provided and your test mode default configuration has not been created.';
  throw new StripeApiError(400, { message });
}

function parsePortalFlow(
  store: StripeStore,
  params: StripeParams,
  customer: string,
  { features }: Stripe.BillingPortal.Configuration,
): Stripe.BillingPortal.Session.Flow {
  params.allowOnly<Stripe.BillingPortal.SessionCreateParams.FlowData>(
    'type',
    'after_completion',
    'subscription_update_confirm',
  );
  const type = params.choice('type', 'subscription_update_confirm', 'payment_method_update') ?? params.required('type');
  if (params.has('after_completion')) {
    const completion = params
      .nested('after_completion')
      .allowOnly<Stripe.BillingPortal.SessionCreateParams.FlowData.AfterCompletion>(
        'type',
        'redirect',
        'hosted_confirmation',
      );
    if (completion.required('type') === 'redirect') completion.nested('redirect').url('return_url');
  }
  if (type !== 'subscription_update_confirm') return fromFields<Stripe.BillingPortal.Session.Flow>({ type });

  const confirmation = params
    .nested('subscription_update_confirm')
    .allowOnly<Stripe.BillingPortal.SessionCreateParams.FlowData.SubscriptionUpdateConfirm>(
      'subscription',
      'items',
      'discounts',
    );
  const subscription = store.get(
    'subscription',
    confirmation.required('subscription'),
    'flow_data[subscription_update_confirm][subscription]',
  );
  if (getId(subscription.customer) !== customer || isEnded(subscription)) {
    confirmation.reject('subscription', 'This subscription cannot be updated by this customer.');
  }
  if (store.rejectsSwitchWhileScheduled && subscription.schedule !== null) {
    confirmation.reject(
      'subscription',
      'This subscription cannot be updated because it is managed by a subscription schedule.',
    );
  }
  const [line] = confirmation.items('items');
  const price = store.get('price', line?.required('price'), 'flow_data[subscription_update_confirm][items][0][price]');
  if (line?.required('id') !== getItem(subscription).id)
    confirmation.reject('items', 'No such item of this subscription.');
  const update = features.subscription_update;
  if (!update?.enabled)
    confirmation.reject('subscription', 'The subscription update feature is disabled in the portal configuration.');
  if (update.products?.some(({ prices }) => prices.includes(price.id)) !== true) {
    confirmation.reject('items', 'This price is not in the portal configuration.');
  }
  if (price.id === getItem(subscription).price.id)
    confirmation.reject('items', 'This is what the subscription has already.');
  const items = [
    fromFields<never>({
      id: getItem(subscription).id,
      price: price.id,
      quantity: line?.integer('quantity') ?? 1,
    } as never),
  ];
  return fromFields<Stripe.BillingPortal.Session.Flow>({
    type,
    after_completion: { type: 'redirect', hosted_confirmation: null, redirect: null },
    subscription_update_confirm: { discounts: null, items, subscription: subscription.id },
  });
}
