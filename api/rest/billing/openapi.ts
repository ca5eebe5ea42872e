import Type from 'typebox';
import {
  CheckoutResponse,
  InvoiceResponse,
  getPlanResponse,
  PortalResponse,
  ReceivedResponse,
  TopupSettingsResponse,
} from './schemas.ts';
import { getBillingStatusResponse } from '../../../shared/presenters/billingStatus.ts';
import { getCheckoutRequest, TopupRequest, TopupSettingsRequest } from './schemas.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage, getExampleAccountPlan } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';
import { pageResponse } from '../pagination.ts';
import { presentPlan } from './presenter.ts';
import { getExamplePlan } from '../../../shared/lib/catalog/offeredPlans.ts';

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

export const describeBilling = (): FeatureDescription => ({
  tag: { name: 'Billing', description: 'Plans, subscriptions, top-ups and payment events.' },
  schemas: {
    Plan: getPlanResponse(),
    BillingStatus: getBillingStatusResponse(),
    Checkout: CheckoutResponse,
    Invoice: InvoiceResponse,
    TopupSettings: TopupSettingsResponse,
    TopupSettingsChange: TopupSettingsRequest,
  },
  operations: {
    'GET /api/billing/plans/': {
      id: 'listPlans',
      summary: 'List plans',
      response: {
        status: 200,
        description: 'All plans, as an array without an envelope.',
        schema: Type.Array(getPlanResponse()),
        example: [buildExamplePlan()],
      },
    },
    'GET /api/billing/status/': {
      id: 'getBillingStatus',
      summary: 'Get the subscription status',
      response: {
        status: 200,
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
      },
    },
    'POST /api/billing/checkout/': {
      id: 'checkOut',
      summary: 'Start a checkout for a plan',
      description:
        'Subscribes the account, or changes its plan. Plans are charged once a year. Returns 400 for the plan that the account already has.',
      body: { schema: getCheckoutRequest(), example: { plan: getExamplePlan().slug } },
      response: {
        status: 200,
        description: 'The page to open in a browser, to pay or to confirm the change.',
        schema: CheckoutResponse,
        example: EXAMPLE_CHECKOUT,
      },
      acceptsIdempotencyKey: true,
    },
    'POST /api/billing/portal/': {
      id: 'openBillingPortal',
      summary: 'Open the billing portal',
      description:
        'Creates a link to the page of the payment processor for invoices, payment methods and cancellation.',
      response: {
        status: 200,
        description: 'The link, valid for a short time.',
        schema: PortalResponse,
        example: { portal_url: 'https://billing.example.org/p/session/123' },
      },
    },
    'GET /api/billing/invoices/': {
      id: 'listInvoices',
      summary: 'List invoices, newest first',
      description:
        'Invoices of the subscription and of top-ups. The list is read from the database, so that it works while the payment processor is unavailable. The number and the addresses of a top-up follow some seconds after its payment.',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(InvoiceResponse),
        example: examplePage({
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
      },
    },
    'GET /api/billing/topup/settings/': {
      id: 'getTopupSettings',
      summary: 'Get the settings of automatic top-ups',
      response: {
        status: 200,
        description: 'The current settings.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
    },
    'PATCH /api/billing/topup/settings/': {
      id: 'updateTopupSettings',
      summary: 'Update the settings of automatic top-ups',
      description:
        'Omitted fields keep their values. Enabling automatic top-ups requires an active subscription and a payment method. They are charged at most once an hour.',
      body: {
        schema: TopupSettingsRequest,
        example: { auto_topup_enabled: true, auto_topup_threshold_credits: 100 },
        isOptional: true,
      },
      response: {
        status: 200,
        description: 'The updated settings.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
      errorCodes: ['subscription_required'],
    },
    'POST /api/billing/topup/': {
      id: 'topUp',
      summary: 'Buy credits',
      description:
        'Buys `floor(amount_cents x monthly_credits / price_monthly_cents)` credits at the rate of the plan. They are added when the payment completes. If the service collects tax, it is added to the amount; a promotion code reduces price and credits in the same proportion. While 10 top-ups wait for payment, another one returns 429 with the time until the oldest expires.',
      body: { schema: TopupRequest, example: { amount_cents: 5_000 } },
      response: {
        status: 200,
        description: 'The page to pay at.',
        schema: CheckoutResponse,
        example: EXAMPLE_CHECKOUT,
      },
      errorCodes: ['subscription_required'],
      acceptsIdempotencyKey: true,
    },
    'POST /api/billing/webhooks/processor/': {
      id: 'receivePaymentEvent',
      summary: 'Receive an event of the payment processor',
      description: 'Called by the processor only. Rejected requests count against the rate limit of their address.',
      parameters: [
        {
          name: 'Stripe-Signature',
          in: 'header',
          description: 'Signature of the unchanged body, at most five minutes old.',
          schema: { type: 'string' },
          required: true,
        },
      ],
      body: { schema: ProcessorEventBody, example: { id: 'evt_123', type: 'invoice.paid' } },
      response: {
        status: 200,
        description: 'The event is stored; a worker processes it.',
        schema: ReceivedResponse,
        example: { received: true },
      },
      errorCodes: ['rate_limited'],
    },
  },
});
