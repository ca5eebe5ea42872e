import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { eventually } from '../harness/testService.ts';

/** Noon of a day, ten minutes after the period boundary at 11:50. */
const at = (day: string) => new Date(`${day}T12:00:00Z`);

describe('a year of an account', () => {
  const billing = useBillingService({ startAt: new Date('2027-01-31T11:50:00Z') });
  let customer: TestCustomer;
  before(async () => {
    customer = await billing.createCustomer(null);
  });

  const call = async (method: string, path: string, body?: object) =>
    billing.onFirstApi(customer).request(method, path, body === undefined ? {} : { body });
  const balance = () => billing.onFirstApi(customer).balance();
  const credits = async () => (await call('GET', '/api/usage/summary/')).body.credits;
  const status = async () => (await call('GET', '/api/billing/status/')).body;
  /** Reads a page with a new session, as an earlier one may have expired. */
  const readPage = async (path: string): Promise<string> => {
    const visitor = new HttpBrowser();
    await visitor.submitForm(`${billing.service.baseUrl}/sign-in`, { email: customer.email });
    return (await visitor.request(`${billing.service.baseUrl}${path}`)).text;
  };
  const lastEntries = async (count: number) => (await billing.onFirstApi(customer).ledger()).slice(-count);
  const spend = async (videos: number, images: number) => {
    const made = [];
    for (let index = 0; index < videos; index += 1) made.push(await billing.onFirstApi(customer).createVideo());
    for (let index = 0; index < images; index += 1) made.push(await billing.onFirstApi(customer).createImage());
    for (const { uuid } of made)
      expect((await billing.onFirstApi(customer).waitForEnd(uuid)).status).to.equal('succeeded');
  };

  it('starts without credits, and with the first month once the year is paid', async () => {
    expect(await status()).to.include({ status: 'none', plan: null, has_payment_method: false });
    expect((await call('POST', '/api/billing/topup/', { amount_cents: 5000 })).status).to.equal(402);
    await billing.subscribe(billing.onFirstApi(customer), 'starter');
    expect(await status()).to.deep.include({
      status: 'active',
      plan: { slug: 'starter', name: 'Starter', parallel_limit: 3 },
      cancel_at_period_end: false,
      has_payment_method: true,
    });
    expect((await status()).current_period_end).to.match(/^2028-01-31T11:50/);
    expect(await balance()).to.equal(400);
    expect((await call('POST', '/api/billing/checkout/', { plan: 'starter' })).status).to.equal(400);
    await spend(2, 0);
    expect(await balance()).to.equal(330);
  });

  it('rolls unspent credits over, at a clamped month end', async () => {
    await billing.advanceTo(at('2027-02-28'));
    expect(await lastEntries(3)).to.deep.equal([
      ['expiry', -330],
      ['rollover', 330],
      ['grant', 400],
    ]);
    expect(await balance()).to.equal(730);
    expect(await credits()).to.include({ used_this_period: 0, granted_this_period: 400, rollover: 330 });
    expect((await credits()).period_end).to.match(/^2027-03-31T11:50/);
    const page = await readPage('/account/');
    expect(page).to.match(/<progress value="730" max="730"/);
    expect(page).to.include("730 of this month's 730 plan credits left");
  });

  it('rolls over at most one month of credits, for one month', async () => {
    await billing.advanceTo(at('2027-03-31'));
    expect(await balance()).to.equal(800);
    expect((await credits()).period_end).to.match(/^2027-04-30T11:50/);
  });

  it('upgrades immediately, and grants the difference of the month', async () => {
    await billing.advanceTo(at('2027-04-15'));
    const { body } = await call('POST', '/api/billing/checkout/', { plan: 'pro' });
    expect(billing.stripe.confirmPlanSwitch(body.checkout_url)).to.equal('switched');
    await billing.drained();
    expect(await lastEntries(1)).to.deep.equal([['grant', 700]]);
    expect(await balance()).to.equal(1500);
    expect((await status()).plan).to.include({ slug: 'pro', parallel_limit: 5 });
  });

  it('accepts top-ups at the rate of the plan, which never expire', async () => {
    await billing.topUp(billing.onFirstApi(customer), 5_000);
    expect(await balance()).to.equal(3396);
    await billing.advanceTo(at('2027-04-30'));
    expect(await balance()).to.equal(1100 + 1100 + 1896);
  });

  it('is granted twelve months, including those in which no job ran', async () => {
    for (const [day, months] of [
      ['2027-05-31', 5],
      ['2027-06-30', 6],
      ['2027-10-31', 10],
      ['2027-12-31', 12],
      ['2028-01-30', 12],
    ] as const) {
      await billing.advanceTo(at(day));
      expect(await balance(), day).to.equal(4096);
      const grants = (await billing.onFirstApi(customer).ledger()).filter(
        ([type, amount]) => type === 'grant' && amount !== 700,
      );
      expect(grants, day).to.have.length(months);
    }
  });

  it('may spend credits after the renewal failed, but receives no grant', async () => {
    billing.stripe.failRenewals = true;
    await billing.advanceTo(at('2028-02-01'));
    expect(await status()).to.include({ status: 'past_due' });
    expect(await balance()).to.equal(4096);
    await spend(0, 1);
    expect(await balance()).to.equal(4088);
    const [account, usage] = [await readPage('/account/'), await readPage('/account/usage/')];
    for (const page of [account, usage])
      expect(page).to.include('<dt>Next grant</dt><dd>None: the plan ends, or its payment is overdue</dd>');
    expect(account).to.include('5 generations at a time. The last payment failed.');
  });

  it('is granted the due month when the renewal is paid later', async () => {
    billing.stripe.failRenewals = false;
    billing.stripe.payFailedInvoice(customerReference());
    await billing.drained();
    expect(await status()).to.include({ status: 'active' });
    await billing.advanceTo(at('2028-02-03'));
    expect(await lastEntries(3)).to.deep.equal([
      ['expiry', -2192],
      ['rollover', 1100],
      ['grant', 1100],
    ]);
    expect(await balance()).to.equal(4096);
    // 2028 is a leap year.
    expect((await credits()).period_end).to.match(/^2028-02-29T11:50/);
  });

  it('keeps its plan until the end of the paid year after a cancellation, and then loses the plan credits', async () => {
    billing.stripe.cancelAtPeriodEnd(customerReference());
    await billing.drained();
    expect(await status()).to.include({ status: 'active', cancel_at_period_end: true });
    await billing.advanceTo(at('2029-01-30'));
    expect(await balance()).to.equal(4096);
    await billing.advanceTo(at('2029-02-01'));
    await eventually('ended', async () => (await status()).status === 'canceled');
    expect(await lastEntries(1)).to.deep.equal([['expiry', -2200]]);
    expect(await balance()).to.equal(1896);
    expect(await status()).to.include({ plan: null });
    const refused = await billing
      .onFirstApi(customer)
      .createGeneration({ model: 'imgmodel-2', params: { resolution: '1K' } });
    expect([refused.status, refused.body.error]).to.deep.equal([402, 'subscription_required']);
  });

  function customerReference(): string {
    return billing.stripe.summarize().customers[0]?.customerId ?? '';
  }
});
