import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError, expectTimestamp, countOccurrences } from '../harness/errorEnvelope.ts';
import { REWRITE_PLAN_HISTORY } from '../harness/planHistory.ts';
import { setAllModelsOnline, completeAllGenerations } from '../harness/seeds.ts';

const checkout = (customer: TestCustomer, body: object) => customer.request('POST', '/api/billing/checkout/', { body });

const getBillingStatus = async (customer: TestCustomer) => (await customer.request('GET', '/api/billing/status/')).body;

describe('billing', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  before(() => setAllModelsOnline(service));

  describe('plans', () => {
    it('is public: a plain array with the table of the specification', async () => {
      const { status, body } = await service.request('GET', '/api/billing/plans/');
      expect(status).to.equal(200);
      const rows = body.map((plan: Record<string, unknown>) => {
        expect(plan).to.have.all.keys(
          'slug',
          'name',
          'price_monthly_cents',
          'price_yearly_cents',
          'monthly_credits',
          'parallel_limit',
          'features',
          'highlight',
        );
        expect(plan['name']).to.be.a('string').with.length.above(0);
        expect(plan['features']).to.be.an('array').with.length.above(0);
        for (const feature of plan['features'] as unknown[]) expect(feature).to.be.a('string');
        return [
          plan['slug'],
          plan['price_monthly_cents'],
          plan['price_yearly_cents'],
          plan['monthly_credits'],
          plan['parallel_limit'],
          plan['highlight'],
        ];
      });
      expect(rows).to.deep.equal([
        ['lite', 600, 7200, 200, 2, false],
        ['starter', 1200, 14400, 400, 3, false],
        ['pro', 2900, 34800, 1100, 5, true],
        ['studio', 7500, 90000, 3000, 8, false],
      ]);
    });
  });

  describe('status', () => {
    it('is none without a plan for an account that never had a subscription', async () => {
      expect(await getBillingStatus(await service.createCustomer(null))).to.deep.equal({
        plan: null,
        status: 'none',
        interval: 'yearly',
        current_period_end: null,
        cancel_at_period_end: false,
        processor: 'stripe',
        has_payment_method: true,
      });
    });

    it('is active with the plan and the end of the paid year for a subscriber', async () => {
      const { current_period_end: paidUntil, ...rest } = await getBillingStatus(
        await service.createCustomer('starter'),
      );
      expect(rest).to.deep.equal({
        plan: { slug: 'starter', name: 'Starter', parallel_limit: 3 },
        status: 'active',
        interval: 'yearly',
        cancel_at_period_end: false,
        processor: 'stripe',
        has_payment_method: true,
      });
      expectTimestamp(paidUntil);
      expect((Date.parse(paidUntil) - Date.now()) / 86_400_000).to.be.within(364, 366);
    });
  });

  describe('checkout in local keyless development', () => {
    for (const [plan, credits] of Object.entries({ lite: 200, starter: 400, pro: 1100, studio: 3000 })) {
      it(`activates ${plan} directly, with ${credits} credits`, async () => {
        const customer = await service.createCustomer(null);
        const { status, body } = await checkout(customer, { plan });
        expect([status, body]).to.deep.equal([200, { checkout_url: null, activated: true }]);
        expect((await getBillingStatus(customer)).plan.slug).to.equal(plan);
        expect(await customer.ledger()).to.deep.equal([['grant', credits]]);
      });
    }

    it('ignores an interval field with any value', async () => {
      for (const interval of ['monthly', 'yearly', 5, null, { every: ['day'] }]) {
        const customer = await service.createCustomer(null);
        expect((await checkout(customer, { plan: 'lite', interval })).status).to.equal(200);
        expect((await getBillingStatus(customer)).interval).to.equal('yearly');
      }
    });

    it('returns 400 validation_error for an unknown or missing plan', async () => {
      const customer = await service.createCustomer(null);
      for (const plan of [
        'gold',
        'LITE',
        '',
        null,
        5,
        true,
        ['lite'],
        { slug: 'lite' },
        'constructor',
        '__proto__',
        undefined,
      ]) {
        expectError(await checkout(customer, { plan }), 'validation_error', 'plan');
      }
      expect(await customer.ledger()).to.deep.equal([]);
    });

    it('returns 400 validation_error for the plan that the account already has', async () => {
      const customer = await service.createCustomer('pro');
      expectError(await checkout(customer, { plan: 'pro' }), 'validation_error', 'plan');
      expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
    });

    it('grants the monthly difference on an upgrade, and nothing twice for going up, down and up again', async () => {
      const customer = await service.createCustomer('lite');
      const steps: [string, number, number][] = [
        ['pro', 900, 5],
        ['lite', 0, 2],
        ['pro', 0, 5],
        ['starter', 0, 3],
        ['studio', 1900, 8],
        ['lite', 0, 2],
        ['studio', 0, 8],
      ];
      const expected: [string, number][] = [['grant', 200]];
      for (const [plan, granted, parallelLimit] of steps) {
        expect((await checkout(customer, { plan })).status, plan).to.equal(200);
        if (granted > 0) expected.push(['grant', granted]);
        expect(await customer.ledger(), plan).to.deep.equal(expected);
        expect((await getBillingStatus(customer)).plan).to.include({ slug: plan, parallel_limit: parallelLimit });
        expect((await customer.request('GET', '/api/usage/summary/')).body.jobs.parallel_limit).to.equal(parallelLimit);
      }
      expect((await customer.request('GET', '/api/usage/summary/')).body.credits).to.include({
        balance: 3000,
        granted_this_period: 3000,
      });
    });

    it('grants nothing twice when the credits were spent in between', async () => {
      const customer = await service.createCustomer('pro');
      await customer.createVideo();
      await completeAllGenerations(service, customer);
      await checkout(customer, { plan: 'lite' });
      await checkout(customer, { plan: 'pro' });
      expect(await customer.balance()).to.equal(1065);
      await checkout(customer, { plan: 'studio' });
      expect(await customer.balance()).to.equal(2965);
    });

    it('starts one subscription with one grant for concurrent requests to two processes', async () => {
      const customer = await service.createCustomer(null);
      const ways = service.baseUrls.map((url) => customer.on(url));
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, index) => checkout(ways[index % 2] ?? customer, { plan: 'pro' })),
      );
      expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 1, 400: 9 });
      expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
      expect(await listSubscriptions(customer)).to.deep.equal([{ plan_slug: 'pro', status: 'active' }]);
    });

    it('grants the credits of the larger plan in total for concurrent requests for two plans', async () => {
      for (let round = 0; round < 5; round += 1) {
        const customer = await service.createCustomer(null);
        const [a, b] = service.baseUrls.map((url) => customer.on(url)) as [TestCustomer, TestCustomer];
        await Promise.all([checkout(a, { plan: 'lite' }), checkout(b, { plan: 'studio' })]);
        expect(await customer.balance()).to.equal(3000);
        expect(await listSubscriptions(customer)).to.have.lengthOf(1);
      }
    });

    it('works with a session cookie and with an API key', async () => {
      const customer = await service.createCustomer(null);
      const { status } = await customer.requestWithSession('POST', '/api/billing/checkout/', {
        body: { plan: 'lite' },
      });
      expect(status).to.equal(200);
    });
  });

  it('grants an upgrade right after the end of a month for the new month alone', async () => {
    const customer = await service.createCustomer('lite');
    await service.sql(
      `WITH month AS (SELECT date_trunc('milliseconds', now()) - interval '1 second' AS ends), begun AS (
         UPDATE subscriptions SET started_at = ends - interval '1 month' FROM month
          WHERE account_id = (SELECT id FROM accounts WHERE email = $1)
       )
       UPDATE accounts SET period_start = ends - interval '1 month', period_end = ends FROM month WHERE email = $1`,
      [customer.email],
    );
    await service.sql(REWRITE_PLAN_HISTORY);
    await checkout(customer, { plan: 'studio' });
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 200],
      ['expiry', -200],
      ['rollover', 200],
      ['grant', 3000],
    ]);
  });

  describe('portal', () => {
    it('is null in local keyless development', async () => {
      const customer = await service.createCustomer('lite');
      const { status, body } = await customer.request('POST', '/api/billing/portal/');
      expect([status, body]).to.deep.equal([200, { portal_url: null }]);
      expect((await customer.requestWithSession('POST', '/api/billing/portal/', { body: {} })).status).to.equal(200);
    });
  });

  function listSubscriptions({ email }: TestCustomer) {
    return service.sql(
      'SELECT s.plan_slug, s.status FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1',
      [email],
    );
  }
});
