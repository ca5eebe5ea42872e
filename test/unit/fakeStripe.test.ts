import { expect } from 'chai';
import type Stripe from 'stripe';
import { createStripeClient } from '../../shared/gateways/payments/stripeClient.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { StripeParams } from '../fakes/stripe/params.ts';
import { getItem } from '../fakes/stripe/subscriptions.ts';
import { getId } from '../fakes/stripe/store.ts';
import { captureError } from '../harness/expectRejection.ts';
import { createProcessor, getChargeId, RETURN_URLS } from '../harness/stripeFixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('the fake Stripe', () => {
  let fake: FakeStripe;
  let stripe: Stripe;
  let customerId: string;
  let id: string;
  beforeEach(async () => {
    fake = await new FakeStripe().start();
    stripe = createStripeClient(fake.secretKey, fake.url);
    const processor = createProcessor(fake);
    customerId = await processor.createCustomer({ accountUuid: crypto.randomUUID(), email: 'ada@example.com' });
    const request = { accountUuid: crypto.randomUUID(), customerId, plan: 'pro', metadata: {} } as const;
    id = fake.completeCheckout(await processor.openSubscriptionCheckout(request, RETURN_URLS, 'key'))
      .subscription as string;
  });
  afterEach(() => fake.stop());

  const read = () => stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] });
  const readInvoice = async () => (await read()).latest_invoice as Stripe.Invoice;
  const listInvoices = async () =>
    (await stripe.invoices.list({ subscription: id })).data.map(({ billing_reason, status }) => [
      billing_reason?.replace('subscription_', ''),
      status,
    ]);
  const yearEnd = () => 1_000 * getItem(fake.findSubscription(id)).current_period_end;
  const advanceBy = (ms: number) => fake.advanceTo(new Date(fake.now().getTime() + ms));
  const renew = (pastMs = 60_000) => fake.advanceTo(new Date(yearEnd() + pastMs));

  it('rejects parameters that the types of the stripe package do not have', async () => {
    for (const call of [
      () => stripe.webhookEndpoints.list({ created: 1 } as never),
      () => stripe.billingPortal.configurations.list({ created: 1 } as never),
      () => stripe.customers.listPaymentMethods(customerId, { created: 1 } as never),
      () => stripe.invoices.voidInvoice('in_1', { auto_advance: false } as never),
      () => stripe.checkout.sessions.create({ payment_method_types: ['card'] } as never),
    ])
      expect(await captureError(call())).to.include({ code: 'parameter_unknown' });
    const params = new StripeParams({});
    // @ts-expect-error: not a field of the type.
    params.allowOnly<Stripe.CustomerCreateParams>('mail');
    // @ts-expect-error: without a type no field is allowed.
    params.allowOnly('email');
  });

  it('lists the draft of a renewal for an hour, which the period and the latest invoice name already', async () => {
    const end = yearEnd();
    renew();
    expect(yearEnd()).to.be.above(end);
    const draft = await readInvoice();
    expect(draft).to.include({ status: 'draft', auto_advance: true, number: null, attempted: false });
    expect(draft.automatically_finalizes_at).to.equal(end / 1_000 + 3_600);
    expect(draft.status_transitions).to.include({ finalized_at: null, paid_at: null });
    expect(await listInvoices()).to.deep.equal([
      ['cycle', 'draft'],
      ['create', 'paid'],
    ]);
    advanceBy(HOUR_MS);
    expect(await readInvoice()).to.include({ status: 'paid', automatically_finalizes_at: null });
    expect(fake.store.list('event').map(({ type }) => type)).to.include('invoice.created');
  });

  it('leaves a renewal without a tax address a draft of an active subscription until its cause is removed', async () => {
    fake.leaveDraft(id);
    renew(40 * DAY_MS);
    const draft = await readInvoice();
    expect(draft.status).to.equal('draft');
    expect(draft.automatic_tax.status).to.equal('requires_location_inputs');
    expect(draft.last_finalization_error?.code).to.equal('customer_tax_location_invalid');
    expect((await read()).status).to.equal('active');
    fake.collectDraft(id);
    expect(await readInvoice()).to.include({ status: 'paid', last_finalization_error: null });
  });

  for (const [behavior, status] of [
    ['keep_as_draft', 'draft'],
    ['mark_uncollectible', 'uncollectible'],
    ['void', 'void'],
  ] as const) {
    it(`keeps a subscription active whose collection is paused with ${behavior}`, async () => {
      fake.pauseCollection(id, behavior);
      renew(DAY_MS);
      expect(await read()).to.deep.include({ status: 'active', pause_collection: { behavior, resumes_at: null } });
      expect((await readInvoice()).status).to.equal(status);
    });
  }

  it('drafts the invoices of an unpaid subscription, which a payment of the latest one activates', async () => {
    fake.afterRetries = 'unpaid';
    fake.setCard(customerId, 'declined');
    renew(30 * DAY_MS);
    expect((await read()).status).to.equal('unpaid');
    renew(DAY_MS);
    expect(await readInvoice()).to.include({ status: 'draft', auto_advance: false });
    const older = (await stripe.invoices.list({ subscription: id, status: 'open' })).data[0]?.id as string;
    fake.payOpenInvoice(older);
    expect((await read()).status).to.equal('unpaid');
    fake.payFailedInvoice(id);
    expect((await read()).status).to.equal('active');
  });

  it('makes a subscription past due while its upgrade is not paid, with a credit for the plan before', async () => {
    const { total, lines } = fake.failUpgrade(id);
    expect(await read()).to.include({ status: 'past_due' });
    expect(lines.data.map(({ amount, pricing }) => [amount, pricing?.price_details?.price])).to.deep.equal([
      [-34_800, fake.prices.pro],
      [34_800 + total, fake.prices['studio']],
    ]);
    expect(await listInvoices()).to.deep.equal([
      ['update', 'open'],
      ['create', 'paid'],
    ]);
    advanceBy(4 * DAY_MS);
    expect((await read()).status).to.equal('active');
  });

  it('makes a subscription unpaid, if so configured, whose upgrade was not paid by any attempt', async () => {
    fake.failUpgrade(id, 'unpaid');
    expect((await read()).status).to.equal('unpaid');
    fake.payFailedInvoice(id);
    expect((await read()).status).to.equal('active');
  });

  it('leaves the drafts and open invoices of a subscription that ended as they are, and collects none', async () => {
    fake.failUpgrade(id, 'unpaid');
    fake.leaveDraft(id);
    renew(2 * HOUR_MS);
    await stripe.subscriptions.cancel(id);
    advanceBy(30 * DAY_MS);
    expect(await listInvoices()).to.deep.equal([
      ['cycle', 'draft'],
      ['update', 'open'],
      ['create', 'paid'],
    ]);
    const draft = await readInvoice();
    const error = await captureError(stripe.invoices.del(draft.id));
    expect(error.message).to.match(/not of a subscription/);
  });

  it('refunds a charge during an inquiry, which closes it', async () => {
    const charge = getChargeId(fake, id);
    const inquiry = fake.openDispute(charge, { isInquiry: true });
    expect(inquiry).to.include({ status: 'warning_needs_response', is_charge_refundable: true });
    expect((await stripe.charges.retrieve(charge)).disputed).to.equal(true);
    await stripe.refunds.create({ charge, amount: 800 });
    expect(fake.submitEvidence(inquiry.id).status).to.equal('warning_under_review');
    await stripe.refunds.create({ charge });
    expect((await stripe.disputes.list({ charge })).data[0]?.status).to.equal('warning_closed');
    const { data } = await stripe.refunds.list({ charge });
    expect(data.map(({ amount }) => amount)).to.deep.equal([34_000, 800]);
    expect(data[0]?.created).to.be.a('number');
    const intent = getId(fake.store.get('charge', charge).payment_intent);
    expect((await stripe.refunds.list({ payment_intent: intent })).data).to.have.length(2);
  });

  for (const outcome of ['open', 'lost', 'won'] as const) {
    it(`refuses the refund of a charge whose dispute is ${outcome}`, async () => {
      const charge = getChargeId(fake, id);
      fake.openDispute(charge);
      if (outcome !== 'open') fake.closeDispute(charge, outcome);
      const error = (await captureError(stripe.refunds.create({ charge }))) as Stripe.errors.StripeError;
      expect(error.code).to.equal('charge_disputed');
      // Stripe does not document whether a won dispute permits a refund: both are possible.
      fake.store.refundsWonDisputes = true;
      const after = await stripe.refunds.create({ charge }).catch(({ code }: Stripe.errors.StripeError) => code);
      expect(typeof after === 'object').to.equal(outcome === 'won');
    });
  }
});
