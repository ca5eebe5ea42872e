import Type from 'typebox';
import {
  getAutoTopupSettings,
  updateAutoTopupSettings,
  type AutoTopupSettings,
} from '../../../shared/domain/billing/autoTopupSettings.ts';
import { getBillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import { openCustomerPortal, startPlanCheckout } from '../../../shared/domain/billing/checkout.ts';
import { listInvoices } from '../../../shared/domain/billing/invoices.ts';
import { startTopupCheckout } from '../../../shared/domain/billing/topups.ts';
import { getExamplePlan, getOfferedPlans } from '../../../shared/lib/catalog/catalog.ts';
import { getBillingStatusResponse, presentBillingStatus } from '../../../shared/presenters/billingStatus.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, getExampleAccountPlan } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { receiveProcessorEvent } from './paymentWebhook.ts';
import {
  CheckoutResponse,
  getCheckoutRequest,
  getPlanResponse,
  InvoiceResponse,
  PortalResponse,
  ReceivedResponse,
  TopupRequest,
  TopupSettingsRequest,
  TopupSettingsResponse,
} from './schemas.ts';
import type { Static } from 'typebox';
import { presentAs } from '../../../shared/presenters/fields.ts';
import type { Plan } from '../../../shared/spec/plans.ts';
import type { Invoice } from '../../../shared/tables/Invoice.ts';

const EXAMPLE_TOPUP_SETTINGS = {
  auto_topup_enabled: true,
  auto_topup_amount_cents: 5_000,
  auto_topup_threshold_credits: 100,
  preview_credits: 1_896,
};
const EXAMPLE_CHECKOUT = { checkout_url: 'https://checkout.example.org/c/pay/cs_123' };
/** Between us and the payment processor. */
const ProcessorEventBody = Type.Object(
  { id: Type.String(), type: Type.String() },
  { description: 'An event, as the processor sends it' },
);

const buildExamplePlan = () => {
  const plan = getExamplePlan();
  return presentPlan({ ...plan, features: plan.features.slice(0, 1) });
};

const getCheckoutParser = perService(() => createBodyParser(getCheckoutRequest()));

export const BILLING: Feature = {
  tag: { name: 'Billing', description: 'Plans, subscriptions, top-ups and payment events.' },
  schemas: () => ({
    Plan: getPlanResponse(),
    BillingStatus: getBillingStatusResponse(),
    Checkout: CheckoutResponse,
    Invoice: InvoiceResponse,
    TopupSettings: TopupSettingsResponse,
    TopupSettingsChange: TopupSettingsRequest,
  }),
  endpoints: [
    defineEndpoint({
      id: 'listPlans',
      route: 'GET /api/billing/plans/',
      policy: { credential: 'anyone', rateLimit: 'public' },
      summary: 'List plans',
      response: () => ({
        description: 'All plans, as an array without an envelope.',
        schema: Type.Array(getPlanResponse()),
        example: [buildExamplePlan()],
      }),
      run: () => getOfferedPlans().map(presentPlan),
    }),
    defineEndpoint({
      id: 'getBillingStatus',
      route: 'GET /api/billing/status/',
      policy: { needs: 'viewUsage', access: 'svc:read' },
      summary: 'Get the subscription status',
      response: () => ({
        description: 'The current subscription, or the last one of the account.',
        schema: getBillingStatusResponse(),
        example: {
          plan: getExampleAccountPlan(),
          status: 'active',
          interval: 'yearly',
          current_period_end: '2027-11-01T00:00:00.000Z',
          cancel_at_period_end: false,
          processor: 'stripe',
          has_payment_method: true,
        },
      }),
      run: async ({ accountId }) => presentBillingStatus(await getBillingStatus(accountId)),
    }),
    defineEndpoint({
      id: 'checkOut',
      route: 'POST /api/billing/checkout/',
      policy: { needs: 'manageBilling', rateLimit: 'payment', access: 'account' },
      summary: 'Start a checkout for a plan',
      description:
        'Subscribes the account, or changes its plan. Plans are charged once a year. Returns 400 for the plan that the account already has.',
      request: getCheckoutRequest,
      // The interval is ignored, so it does not make a repeated request another one.
      parse: (body) => ({ plan: getCheckoutParser()(body).plan }),
      example: () => ({ plan: getExamplePlan().slug }),
      response: {
        description: 'The page to open in a browser, to pay or to confirm the change.',
        schema: CheckoutResponse,
        example: EXAMPLE_CHECKOUT,
      },
      idempotent: true,
      run: async ({ ctx, caller, body, id }) =>
        presentCheckout(await startPlanCheckout(caller, body.plan, id, getRequestOrigin(ctx))),
    }),
    defineEndpoint({
      id: 'openBillingPortal',
      route: 'POST /api/billing/portal/',
      policy: { needs: 'manageBilling', rateLimit: 'payment', access: 'account' },
      summary: 'Open the billing portal',
      description:
        'Creates a link to the page of the payment processor for invoices, payment methods and cancellation.',
      response: {
        description: 'The link, valid for a short time.',
        schema: PortalResponse,
        example: { portal_url: 'https://billing.example.org/p/session/123' },
      },
      run: async ({ ctx, caller }) => ({ portal_url: await openCustomerPortal(caller, getRequestOrigin(ctx)) }),
    }),
    defineEndpoint({
      id: 'listInvoices',
      route: 'GET /api/billing/invoices/',
      policy: { needs: 'manageBilling', access: 'account' },
      summary: 'List invoices, newest first',
      description:
        'Invoices of the subscription and of top-ups. The list is read from the database, so that it works while the payment processor is unavailable. The number and the addresses of a top-up follow some seconds after its payment.',
      query: ListQuery,
      response: pageResponse(InvoiceResponse, {
        uuid: EXAMPLE_UUID,
        invoice_id: 'in_123',
        number: 'A1B2C3D4-0001',
        kind: 'topup',
        description: 'Top-up: 1896 credits',
        status: 'paid',
        currency: 'usd',
        total_cents: 5_950,
        tax_cents: 950,
        discount_cents: 0,
        net_cents: 5_000,
        refunded_cents: 0,
        created_at: EXAMPLE_TIMESTAMP,
        paid_at: EXAMPLE_TIMESTAMP,
        hosted_invoice_url: 'https://invoice.example.org/i/123',
        pdf_url: 'https://invoice.example.org/i/123/pdf',
      }),
      run: async ({ accountId, query }) =>
        presentPage(await listInvoices(accountId, query.page), '/api/billing/invoices/', presentInvoice),
    }),
    defineEndpoint({
      id: 'getTopupSettings',
      route: 'GET /api/billing/topup/settings/',
      policy: { needs: 'manageBilling', access: 'account' },
      summary: 'Get the settings of automatic top-ups',
      response: {
        description: 'The current settings.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
      run: async ({ accountId }) => presentTopupSettings(await getAutoTopupSettings(accountId)),
    }),
    defineEndpoint({
      id: 'updateTopupSettings',
      route: 'PATCH /api/billing/topup/settings/',
      policy: { needs: 'manageBilling', rateLimit: 'payment', access: 'account' },
      summary: 'Update the settings of automatic top-ups',
      description:
        'Omitted fields keep their values. Enabling automatic top-ups requires an active subscription and a payment method. They are charged at most once an hour.',
      request: TopupSettingsRequest,
      example: { auto_topup_enabled: true, auto_topup_threshold_credits: 100 },
      isRequestOptional: true,
      response: {
        description: 'The updated settings.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
      errors: ['subscription_required'],
      run: async ({ ctx, caller, body }) =>
        presentTopupSettings(await updateAutoTopupSettings(caller, body, getRequestOrigin(ctx))),
    }),
    defineEndpoint({
      id: 'topUp',
      route: 'POST /api/billing/topup/',
      policy: { needs: 'manageBilling', rateLimit: 'payment', access: 'account' },
      summary: 'Buy credits',
      description:
        'Buys `floor(amount_cents x monthly_credits / price_monthly_cents)` credits at the rate of the plan. They are added when the payment completes. If the service collects tax, it is added to the amount; a promotion code reduces price and credits in the same proportion. While 10 top-ups wait for payment, another one returns 429 with the time until the oldest expires.',
      request: TopupRequest,
      example: { amount_cents: 5_000 },
      response: { description: 'The page to pay at.', schema: CheckoutResponse, example: EXAMPLE_CHECKOUT },
      errors: ['subscription_required'],
      idempotent: true,
      run: async ({ caller, body, id }) => presentCheckout(await startTopupCheckout(caller, body.amount_cents, id)),
    }),
    defineEndpoint({
      id: 'receivePaymentEvent',
      route: 'POST /api/billing/webhooks/processor/',
      policy: { credential: 'anyone', rateLimit: 'unlimited' },
      summary: 'Receive an event of the payment processor',
      description: 'Called by the processor only. Rejected requests count against the rate limit of their address.',
      readsBody: true,
      request: ProcessorEventBody,
      example: { id: 'evt_123', type: 'invoice.paid' },
      headers: {
        'Stripe-Signature': Type.String({ description: 'Signature of the unchanged body, at most five minutes old.' }),
      },
      response: {
        description: 'The event is stored; a worker processes it.',
        schema: ReceivedResponse,
        example: { received: true },
      },
      errors: ['rate_limited'],
      run: ({ ctx }) => receiveProcessorEvent(ctx),
    }),
  ],
};

function presentPlan(plan: Plan): Static<ReturnType<typeof getPlanResponse>> {
  return {
    slug: plan.slug,
    name: plan.name,
    price_monthly_cents: plan.priceMonthlyCents,
    price_yearly_cents: plan.priceYearlyCents,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    features: plan.features,
    highlight: plan.highlight,
  };
}

/** Presents a checkout: the page to pay at, or that nothing had to be paid and the change is active. */
function presentCheckout(url: string | null): Static<typeof CheckoutResponse> {
  return url === null ? { checkout_url: null, activated: true } : { checkout_url: url };
}

function presentInvoice(invoice: Invoice): Static<typeof InvoiceResponse> {
  return presentAs(InvoiceResponse, invoice, { invoice_id: invoice.stripe_invoice_id });
}

function presentTopupSettings(settings: AutoTopupSettings): Static<typeof TopupSettingsResponse> {
  // Not in the specification. Present only if there is a problem.
  const auto_topup_problem = settings.auto_topup_problem ?? undefined;
  return presentAs(TopupSettingsResponse, settings, { auto_topup_problem });
}
