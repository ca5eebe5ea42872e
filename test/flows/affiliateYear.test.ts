import { expect } from 'chai';
import { getAffiliateStatus, enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { getId } from '../fakes/stripe/store.ts';
import { runDueTasks } from '../harness/tasks.ts';

const at = (day: string) => new Date(`${day}T12:00:00Z`);

/** The price of a year of the pro plan, and its commission. */
const YEAR = 34_800;
const SHARE = 10_440;

describe('a year of an affiliate', () => {
  const billing = useBillingService({ startAt: new Date('2027-01-10T11:50:00Z') });
  let affiliate: TestCustomer;
  let customer: TestCustomer;
  let link: string;
  before(async () => {
    const { affiliate: owner, code } = await enrollAffiliate(billing.service.baseUrl);
    affiliate = owner;
    customer = await signUpReferred(billing.service.baseUrl, code);
  });

  const status = () => getAffiliateStatus(billing.onFirstApi(affiliate));
  const stats = async () => (await status()).stats;
  const pay = async () => {
    await runJob(billing, 'billing', 'payouts.run');
    await runDueTasks(billing.service);
  };
  const transfers = () => [...billing.stripe.summarize().transfers.values()].map(({ amountCents }) => amountCents);

  it('earns 30 % of the first invoice, whose checkout contains the referral code', async () => {
    await billing.subscribe(customer, 'pro');
    const opened = billing.stripe.requests.find(({ name }) => name === 'checkout.create')?.params as any;
    expect(opened.metadata).to.have.all.keys('account_uuid', 'referral_code');
    expect(opened.subscription_data.metadata).to.deep.equal(opened.metadata);
    expect(opened.metadata.referral_code).to.equal((await status()).code);
    const { stats: sums, recent } = await status();
    expect(sums).to.deep.equal({
      referrals: 1,
      active: 1,
      lifetime_earnings_cents: SHARE,
      pending_cents: SHARE,
      paid_cents: 0,
    });
    expect(recent.at(-1)).to.deep.equal({ month: '2027-01', referrals: 1, commission_cents: SHARE });
  });

  it('earns nothing from top-ups', async () => {
    await billing.topUp(customer, 5_000);
    expect((await stats()).lifetime_earnings_cents).to.equal(SHARE);
  });

  it('is sent to onboarding of one connected account, by a new link each time', async () => {
    const responses = await Promise.all(
      [1, 2, 3].map(() => affiliate.request('POST', '/api/affiliate/onboarding-link/')),
    );
    expect(responses.map((response) => response.status)).to.deep.equal([200, 200, 200]);
    const urls = responses.map(({ body }) => body.url as string);
    expect(new Set(urls).size).to.equal(3);
    expect(new Set(urls.map((url) => /acct_\w+/.exec(url)?.[0])).size).to.equal(1);
    expect(billing.stripe.store.list('account')).to.have.length(1);
    link = urls[0] as string;
    expect(await status()).to.include({ payout_enabled: false, connect_onboarded: false });
  });

  it('receives no payout before payouts are enabled, however long that takes', async () => {
    await billing.advanceTo(at('2027-03-02'));
    await pay();
    expect(transfers()).to.deep.equal([]);
    billing.stripe.onboard(link, 'submitted');
    await billing.drained();
    expect(await status()).to.include({ payout_enabled: false, connect_onboarded: true });
    await pay();
    expect(transfers()).to.deep.equal([]);
  });

  it('receives one payout of the payable commissions once payouts are enabled', async () => {
    billing.stripe.onboard(link);
    await billing.drained();
    expect(await status()).to.include({ payout_enabled: true, connect_onboarded: true });
    await pay();
    await pay();
    expect(transfers()).to.deep.equal([SHARE]);
    expect(await stats()).to.include({ lifetime_earnings_cents: SHARE, pending_cents: 0, paid_cents: SHARE });
  });

  it('earns from the difference of an upgrade, payable after 30 days in the next month', async () => {
    expect(
      billing.stripe.confirmPlanSwitch(await billing.openCheckout(billing.onFirstApi(customer), 'studio')),
    ).to.equal('switched');
    await billing.drained();
    const [upgrade] = billing.stripe.store.list('invoice');
    const earned = Math.floor(((upgrade?.amount_paid ?? 0) * 30) / 100);
    expect(earned).to.be.above(0);
    expect(await stats()).to.include({ pending_cents: earned, paid_cents: SHARE });
    await pay();
    expect(transfers()).to.deep.equal([SHARE]);
  });

  it('earns from a renewal without its discount and tax', async () => {
    const before = (await stats()).lifetime_earnings_cents;
    Object.assign(billing.stripe.store.renewals, { discountPercent: 25, taxPercent: 20 });
    await billing.advanceTo(at('2028-01-11'));
    const [invoice] = billing.stripe.store.list('invoice');
    expect(invoice?.amount_paid).to.equal(67_500);
    expect(invoice?.total_excluding_tax).to.equal(56_250);
    expect((await stats()).lifetime_earnings_cents - before).to.equal(16_875);
    const months = (await status()).recent;
    expect(months.map(({ month }: { month: string }) => month)).to.have.ordered.members([
      ...['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'].map((month) => `2027-${month}`),
      '2028-01',
    ]);
    expect(months.at(-1)).to.include({ referrals: 0, commission_cents: 16_875 });
    expect(months[0]).to.include({ referrals: 0, commission_cents: 0 });
  });

  it('loses the refunded part in proportion, and receives the rest', async () => {
    const [invoice] = billing.stripe.store.list('invoice');
    await pay();
    const paid = (await stats()).paid_cents;
    billing.stripe.refund(getId(invoice), 22_500);
    await billing.drained();
    expect(await stats()).to.include({ pending_cents: 11_250 });
    await billing.advanceTo(at('2028-03-01'));
    await pay();
    expect(transfers()).to.have.members([SHARE, paid - SHARE, 11_250]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: paid + 11_250 });
    expect(YEAR * 0.3).to.equal(SHARE);
  });
});
