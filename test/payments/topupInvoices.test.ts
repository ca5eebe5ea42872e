import { expect } from 'chai';
import { getStaffMetrics } from '../../shared/domain/reports/staffMetrics.ts';
import { useBillingService } from '../harness/billingService.ts';
import { enrollAffiliate, getAffiliateStatus, signUpReferred } from '../harness/affiliates.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { completeInvoices, findTopups, listInvoices } from '../harness/topupInvoices.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { eventually } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';

const readTopupsInMetrics = async (): Promise<number> => (await getStaffMetrics()).revenue.topups30DaysCents;

describe('invoices, tax and promotion codes of top-ups', () => {
  const billing = useBillingService({ env: { STRIPE_TAX: 'on', STRIPE_PROMOTION_CODES: 'on' } });
  before(async () => {
    billing.stripe.store.promotionCodes.set('TWENTY', { percentOff: 20 });
    billing.stripe.store.promotionCodes.set('FLAT', { amountOff: 4_900 });
    billing.stripe.store.promotionCodes.set('ALL', { percentOff: 100 });
  });
  beforeEach(() => {
    billing.stripe.store.taxPercent = 19;
  });
  afterEach(() => billing.stripe.reset());

  async function buy(customer: TestCustomer, promotionCode?: string): Promise<string> {
    const page = await billing.openTopup(customer);
    billing.stripe.completeCheckout(page, promotionCode === undefined ? {} : { promotionCode });
    await billing.drained();
    return page;
  }

  it('add tax to the order, which buys the credits that it names', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer);
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    expect((await listInvoices(customer))[0]).to.include({
      kind: 'topup',
      total_cents: 5_950,
      tax_cents: 950,
      net_cents: 5_000,
      discount_cents: 0,
      status: 'paid',
    });
  });

  it('are announced with tax on the billing page', async () => {
    const visitor = createBrowserFor(await billing.createCustomer('pro'));
    const { text } = await visitor.request(`${billing.service.baseUrl}/account/billing/`);
    expect(text.match(/Tax is added at the checkout\./g)).to.have.length(2);
  });

  it('take back credits in proportion to the net amount when they are refunded, and all with the whole', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer);
    const [{ stripe_payment_intent_id: intentId }] = await findTopups(billing, customer);
    // 59.50 dollars were paid: a tenth of them takes a tenth of the credits, rounded down.
    billing.stripe.refund(intentId, 595);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_896 - 189);
    expect((await findTopups(billing, customer))[0]).to.include({ reversed_cents: 500, credits_reversed: 189 });
    billing.stripe.refund(intentId);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100);
    expect((await findTopups(billing, customer))[0]).to.include({ reversed_cents: 5_000, credits_reversed: 1_896 });
    expect((await listInvoices(customer))[0]).to.include({ refunded_cents: 5_950, total_cents: 5_950 });
  });

  it('take back credits for a credit note with a refund, once', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer);
    const [{ invoice_id: invoiceId }] = await listInvoices(customer);
    billing.stripe.delivery.duplicate = 1;
    billing.stripe.creditWithRefund(invoiceId, 2_975);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 948);
  });

  it('return the credits when a dispute over the payment is won', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer);
    const [{ stripe_payment_intent_id: intentId }] = await findTopups(billing, customer);
    billing.stripe.openDispute(intentId);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100);
    billing.stripe.closeDispute(intentId, 'won');
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    expect((await listInvoices(customer))[0].refunded_cents).to.equal(0);
  });

  it('buy fewer credits with a promotion code, at the rate of the plan and also below the minimum of an order', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer, 'TWENTY');
    expect(await customer.balance()).to.equal(1_100 + 1_517);
    expect((await listInvoices(customer))[0]).to.include({
      total_cents: 4_760,
      tax_cents: 760,
      net_cents: 4_000,
      discount_cents: 1_000,
      description: 'Top-up: 1517 credits',
    });
    await buy(customer, 'FLAT');
    expect(await customer.balance()).to.equal(1_100 + 1_517 + 37);
    // A credited top-up keeps its credits, and loses them when it is refunded.
    const flat = (await findTopups(billing, customer)).find(({ credits }) => credits === 37);
    billing.stripe.refund(flat.stripe_payment_intent_id);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_517);
  });

  it('buy no credits with a promotion code that covers everything', async () => {
    const customer = await billing.createCustomer('pro');
    await buy(customer, 'ALL');
    expect(await customer.balance()).to.equal(1_100);
    expect((await findTopups(billing, customer))[0]).to.include({ status: 'failed', failure_code: 'nothing_paid' });
    expect((await listInvoices(customer)).map(({ kind }) => kind)).to.deep.equal(['subscription']);
  });

  it('leave commissions of plans net of tax and discount, also after a refund', async () => {
    const { affiliate, code } = await enrollAffiliate(billing.service.baseUrl);
    const customer = await signUpReferred(billing.service.baseUrl, code);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    const { invoice } = billing.stripe.completeCheckout(body.checkout_url, { promotionCode: 'TWENTY' });
    await billing.drained();
    // 348 dollars less 20 % are 278.40, and 331.30 with tax.
    expect((await listInvoices(customer))[0]).to.include({ total_cents: 33_130, tax_cents: 5_290, net_cents: 27_840 });
    const readStats = async () => (await getAffiliateStatus(affiliate)).stats;
    expect(await readStats()).to.include({ pending_cents: 8_352 });
    billing.stripe.refund(invoice as string, 16_565);
    await billing.drained();
    expect(await readStats()).to.include({ pending_cents: 4_176 });
    await buy(customer);
    expect(await readStats()).to.include({ pending_cents: 4_176 });
  });

  it('count in staff metrics without tax and discount, and less the net refund', async () => {
    const before = await readTopupsInMetrics();
    const customer = await billing.createCustomer('pro');
    await buy(customer, 'TWENTY');
    expect((await readTopupsInMetrics()) - before).to.equal(4_000);
    billing.stripe.refund((await findTopups(billing, customer))[0].stripe_payment_intent_id, 2_380);
    await billing.drained();
    expect((await readTopupsInMetrics()) - before).to.equal(2_000);
  });

  it('have one invoice, whether its event is late, duplicated, first, or lost', async () => {
    const customer = await billing.createCustomer('pro');
    Object.assign(billing.stripe.delivery, { duplicate: 1, reorder: true, parallel: 4 });
    await buy(customer);
    Object.assign(billing.stripe.delivery, { duplicate: 0, reorder: false, parallel: 1, drop: 1 });
    billing.stripe.completeCheckout(await billing.openTopup(customer));
    await makeTasksDue(billing.service, 'topup.charge', 'topup.page');
    await billing.maintain();
    await eventually('credited', async () => (await customer.balance()) === 1_100 + 2 * 1_896);
    expect((await listInvoices(customer))[0]).to.include({ status: 'paid', total_cents: 5_950, invoice_id: null });
    await completeInvoices(billing);
    const invoices = (await listInvoices(customer)).filter(({ kind }) => kind === 'topup');
    expect(new Set(invoices.map(({ invoice_id: id }) => id)).size).to.equal(2);
    for (const { number } of invoices) expect(number).to.match(/^FAKE-/);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('are credited by the event of the invoice alone', async () => {
    const customer = await billing.createCustomer('pro');
    const page = await billing.openTopup(customer);
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(page);
    billing.stripe.delivery.drop = 0;
    const dropped = billing.stripe.delivery.dropped.splice(0);
    for (const event of dropped.filter(({ type }) => type === 'invoice.paid')) billing.stripe.delivery.resend(event);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    expect((await listInvoices(customer))[0].number).to.match(/^FAKE-/);
  });

  it('list an invoice that Stripe creates late, first without and then with its number', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.store.delaysInvoices = true;
    await buy(customer);
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    await completeInvoices(billing);
    expect((await listInvoices(customer))[0]).to.include({ invoice_id: null, total_cents: 5_950 });
    billing.stripe.issueDelayedInvoices();
    await billing.drained();
    expect((await listInvoices(customer))[0].number).to.match(/^FAKE-/);
  });
});
