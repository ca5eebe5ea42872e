import Type from 'typebox';
import {
  BillingStatusResponse,
  CheckoutResponse,
  PlanResponse,
  PortalResponse,
  ReceivedResponse,
  TopupSettingsResponse,
} from './schemas.ts';
import { CheckoutRequest, TopupRequest, TopupSettingsRequest } from './schemas.ts';
import { EXAMPLE_ACCOUNT_PLAN } from '../openapi/examples.ts';
import type { FeatureDescription } from '../openapi/feature.ts';

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
  { description: 'As the processor sends it' },
);

export const BILLING_DESCRIPTION: FeatureDescription = {
  tag: { name: 'Billing', description: 'Plans, subscriptions, top-ups and payment events.' },
  schemas: {
    Plan: PlanResponse,
    BillingStatus: BillingStatusResponse,
    Checkout: CheckoutResponse,
    TopupSettings: TopupSettingsResponse,
    TopupSettingsChange: TopupSettingsRequest,
  },
  operations: {
    'GET /api/billing/plans/': {
      id: 'listPlans',
      summary: 'List plans',
      response: {
        status: 200,
        description: 'All plans, as a plain array.',
        schema: Type.Array(PlanResponse),
        example: [
          {
            slug: 'pro',
            name: 'Pro',
            price_monthly_cents: 2_900,
            price_yearly_cents: 34_800,
            monthly_credits: 1_100,
            parallel_limit: 5,
            features: ['1100 credits every month'],
            highlight: true,
          },
        ],
      },
    },
    'GET /api/billing/status/': {
      id: 'getBillingStatus',
      summary: 'Read where the subscription stands',
      response: {
        status: 200,
        description: 'The subscription that the account lives under, or the last one it had.',
        schema: BillingStatusResponse,
        example: {
          plan: EXAMPLE_ACCOUNT_PLAN,
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
      summary: 'Subscribe, or change the plan',
      description: 'Plans are charged once a year. The plan that the account has already is a 400.',
      body: { schema: CheckoutRequest, example: { plan: 'pro' } },
      response: {
        status: 200,
        description: 'Where to pay or to confirm the change, in a browser.',
        schema: CheckoutResponse,
        example: EXAMPLE_CHECKOUT,
      },
      acceptsIdempotencyKey: true,
    },
    'POST /api/billing/portal/': {
      id: 'openBillingPortal',
      summary: "Open the payment processor's portal",
      description: 'For invoices, payment methods, and to end the subscription.',
      response: {
        status: 200,
        description: 'Where it is, for a short time.',
        schema: PortalResponse,
        example: { portal_url: 'https://billing.example.org/p/session/123' },
      },
    },
    'GET /api/billing/topup/settings/': {
      id: 'getTopupSettings',
      summary: 'Read the settings of automatic top-ups',
      response: {
        status: 200,
        description: 'The settings.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
    },
    'PATCH /api/billing/topup/settings/': {
      id: 'updateTopupSettings',
      summary: 'Change the settings of automatic top-ups',
      description:
        'What is left out stays. To switch them on takes an active subscription and a payment method; they are charged at most once an hour.',
      body: {
        schema: TopupSettingsRequest,
        example: { auto_topup_enabled: true, auto_topup_threshold_credits: 100 },
        isOptional: true,
      },
      response: {
        status: 200,
        description: 'The settings now.',
        schema: TopupSettingsResponse,
        example: EXAMPLE_TOPUP_SETTINGS,
      },
      errorCodes: ['subscription_required'],
    },
    'POST /api/billing/topup/': {
      id: 'topUp',
      summary: 'Buy credits',
      description:
        'Buys `floor(amount_cents x monthly_credits / price_monthly_cents)` credits at the rate of the plan, which are there when the payment is. While 10 top-ups wait to be paid, the next one is a 429 that says when the oldest expires.',
      body: { schema: TopupRequest, example: { amount_cents: 5_000 } },
      response: { status: 200, description: 'Where to pay.', schema: CheckoutResponse, example: EXAMPLE_CHECKOUT },
      errorCodes: ['subscription_required'],
      acceptsIdempotencyKey: true,
    },
    'POST /api/billing/webhooks/processor/': {
      id: 'receivePaymentEvent',
      summary: 'Take an event of the payment processor',
      description: 'Called by the processor only. Rejected requests count as public requests of their address.',
      parameters: [
        {
          name: 'Stripe-Signature',
          in: 'header',
          description: 'Over the body as it was sent; at most five minutes old.',
          schema: { type: 'string' },
          required: true,
        },
      ],
      body: { schema: ProcessorEventBody, example: { id: 'evt_123', type: 'invoice.paid' } },
      response: {
        status: 200,
        description: 'It is stored; a worker acts upon it.',
        schema: ReceivedResponse,
        example: { received: true },
      },
      errorCodes: ['rate_limited'],
    },
  },
};
