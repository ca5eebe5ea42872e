import Type from 'typebox';
import {
  BillingStatusAnswer,
  CheckoutAnswer,
  PlanAnswer,
  PortalAnswer,
  ReceivedAnswer,
  TopupSettingsAnswer,
} from '../../answers.ts';
import { Checkout, Topup, TopupSettings } from '../../schemas.ts';
import { PLAN_OF_ACCOUNT } from '../examples.ts';
import type { Operations } from '../operation.ts';

const SETTINGS = {
  auto_topup_enabled: true,
  auto_topup_amount_cents: 5_000,
  auto_topup_threshold_credits: 100,
  preview_credits: 1_896,
};
const PAY_HERE = { checkout_url: 'https://checkout.example.org/c/pay/cs_123' };
/** Between us and the payment processor. */
const Event = Type.Object({ id: Type.String(), type: Type.String() }, { description: 'As the processor sends it' });

export const BILLING: Operations = {
  'GET /api/billing/plans/': {
    id: 'listPlans',
    tag: 'Billing',
    summary: 'List plans',
    answer: {
      status: 200,
      description: 'All plans, as a plain array.',
      schema: Type.Array(PlanAnswer),
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
    tag: 'Billing',
    summary: 'Read where the subscription stands',
    answer: {
      status: 200,
      description: 'The subscription that the account lives under, or the last one it had.',
      schema: BillingStatusAnswer,
      example: {
        plan: PLAN_OF_ACCOUNT,
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
    tag: 'Billing',
    summary: 'Subscribe, or change the plan',
    description: 'Plans are charged once a year. The plan that the account has already is a 400.',
    body: { schema: Checkout, example: { plan: 'pro' } },
    answer: {
      status: 200,
      description: 'Where to pay or to confirm the change, in a browser.',
      schema: CheckoutAnswer,
      example: PAY_HERE,
    },
    isRepeatable: true,
  },
  'POST /api/billing/portal/': {
    id: 'openBillingPortal',
    tag: 'Billing',
    summary: "Open the payment processor's portal",
    description: 'For invoices, payment methods, and to end the subscription.',
    answer: {
      status: 200,
      description: 'Where it is, for a short time.',
      schema: PortalAnswer,
      example: { portal_url: 'https://billing.example.org/p/session/123' },
    },
  },
  'GET /api/billing/topup/settings/': {
    id: 'getTopupSettings',
    tag: 'Billing',
    summary: 'Read the settings of automatic top-ups',
    answer: { status: 200, description: 'The settings.', schema: TopupSettingsAnswer, example: SETTINGS },
  },
  'PATCH /api/billing/topup/settings/': {
    id: 'updateTopupSettings',
    tag: 'Billing',
    summary: 'Change the settings of automatic top-ups',
    description:
      'What is left out stays. To switch them on takes an active subscription and a payment method; they are charged at most once an hour.',
    body: {
      schema: TopupSettings,
      example: { auto_topup_enabled: true, auto_topup_threshold_credits: 100 },
      isOptional: true,
    },
    answer: { status: 200, description: 'The settings now.', schema: TopupSettingsAnswer, example: SETTINGS },
    refusals: ['subscription_required'],
  },
  'POST /api/billing/topup/': {
    id: 'topUp',
    tag: 'Billing',
    summary: 'Buy credits',
    description:
      'Buys `floor(amount_cents x monthly_credits / price_monthly_cents)` credits at the rate of the plan, which are there when the payment is. While 10 top-ups wait to be paid, the next one is a 429 that says when the oldest expires.',
    body: { schema: Topup, example: { amount_cents: 5_000 } },
    answer: { status: 200, description: 'Where to pay.', schema: CheckoutAnswer, example: PAY_HERE },
    refusals: ['subscription_required'],
    isRepeatable: true,
  },
  'POST /api/billing/webhooks/processor/': {
    id: 'receivePaymentEvent',
    tag: 'Billing',
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
    body: { schema: Event, example: { id: 'evt_123', type: 'invoice.paid' } },
    answer: {
      status: 200,
      description: 'It is stored; a worker acts upon it.',
      schema: ReceivedAnswer,
      example: { received: true },
    },
    refusals: ['rate_limited'],
  },
};
