import { expect } from 'chai';
import { createCustomer, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { changeOwner } from '../harness/people.ts';
import { useTestService } from '../harness/testService.ts';

const CATALOG = JSON.stringify({
  plans: {
    solo: { name: 'Solo', price_monthly_cents: 900, monthly_credits: 300, parallel_limit: 1 },
    founders: { name: 'Founders', price_monthly_cents: 500, monthly_credits: 1_000, parallel_limit: 3, hidden: true },
    // The same credits as the hidden plan, at another price.
    'small-team': {
      name: 'Small team',
      price_monthly_cents: 4_000,
      monthly_credits: 1_000,
      parallel_limit: 12,
      features: ['1000 credits every month', 'Support <within> a day'],
      highlight: true,
    },
  },
});

const checkout = (customer: TestCustomer, plan: unknown) =>
  customer.request('POST', '/api/billing/checkout/', { body: { plan } });

const getUsage = async (customer: TestCustomer) => (await customer.request('GET', '/api/usage/summary/')).body;

describe('the plans of a CATALOG', () => {
  const service = useTestService({ workers: 0, env: { CATALOG, STAFF_EMAILS: 'boss@example.com' } });
  before(() => setAllModelsOnline(service));

  const createSubscriber = async (plan: string): Promise<TestCustomer> => {
    const customer = await createCustomer(service.baseUrl, null);
    expect((await checkout(customer, plan)).body).to.deep.equal({ checkout_url: null, activated: true });
    return customer;
  };

  /** Puts a subscriber on the hidden plan, as if it was bought before it was hidden. */
  const createFounder = async (): Promise<TestCustomer> => {
    const customer = await createSubscriber('small-team');
    await service.sql(
      `WITH account AS (UPDATE accounts SET plan_slug = 'founders', parallel_limit = 3 WHERE email = $1 RETURNING id),
            subscription AS (UPDATE subscriptions s SET plan_slug = 'founders' FROM account
                              WHERE account_id = account.id RETURNING s.id)
       UPDATE subscription_plans p SET plan_slug = 'founders' FROM subscription s WHERE p.subscription_id = s.id`,
      [customer.email],
    );
    // Its first month was granted by another plan.
    service.fabricated.add('a-month-grants-its-plan');
    return customer;
  };

  it('are listed in their order with the fields of the contract, without the hidden ones', async () => {
    const { status, body } = await service.request('GET', '/api/billing/plans/');
    expect(status).to.equal(200);
    expect(body).to.deep.equal([
      {
        slug: 'solo',
        name: 'Solo',
        price_monthly_cents: 900,
        price_yearly_cents: 10_800,
        monthly_credits: 300,
        parallel_limit: 1,
        features: ['300 credits every month', '1 generation at a time', 'REST API access with personal keys'],
        highlight: false,
      },
      {
        slug: 'small-team',
        name: 'Small team',
        price_monthly_cents: 4_000,
        price_yearly_cents: 48_000,
        monthly_credits: 1_000,
        parallel_limit: 12,
        features: ['1000 credits every month', 'Support <within> a day'],
        highlight: true,
      },
    ]);
  });

  it('are those of the OpenAPI document, which offers no hidden one, and of its examples', async () => {
    const { body } = await service.request('GET', '/api/openapi.json');
    const { requestBody } = body.paths['/api/billing/checkout/'].post;
    const content = requestBody.content['application/json'];
    expect(content.schema.properties.plan.enum).to.deep.equal(['solo', 'small-team']);
    expect(content.examples.usual.value).to.deep.equal({ plan: 'small-team' });
    const { schemas } = body.components;
    expect(schemas.Plan.properties.slug.enum).to.deep.equal(['solo', 'small-team']);
    expect(schemas.BillingStatus.properties.plan.properties.slug.enum).to.include('founders');
  });

  it('are sold: a checkout grants the credits of the plan and permits as many generations at a time', async () => {
    const customer = await createSubscriber('solo');
    expect(await customer.ledger()).to.deep.equal([['grant', 300]]);
    const { plan, jobs, credits } = await getUsage(customer);
    expect(plan).to.deep.equal({
      slug: 'solo',
      name: 'Solo',
      monthly_credits: 300,
      parallel_limit: 1,
      price_monthly_cents: 900,
    });
    expect([jobs.parallel_limit, credits.granted_this_period]).to.deep.equal([1, 300]);
    const status = (await customer.request('GET', '/api/billing/status/')).body;
    expect(status.plan).to.deep.equal({ slug: 'solo', name: 'Solo', parallel_limit: 1 });
    await customer.createImage();
    const second = await customer.createGeneration({ model: 'imgmodel-2', params: { resolution: '1K' } });
    expectError(second, 'parallel_limit_reached');
  });

  it('are not sold while hidden, and neither are the default plans', async () => {
    const customer = await createCustomer(service.baseUrl, null);
    for (const plan of ['founders', 'lite', 'pro', 'Solo', 'constructor', null, undefined]) {
      const refused = await checkout(customer, plan);
      expectError(refused, 'validation_error', 'plan');
      expect(refused.body.detail).to.not.include('founders');
    }
    expect(await customer.ledger()).to.deep.equal([]);
  });

  it('decide the rate of top-ups, also of automatic ones', async () => {
    const customer = await createSubscriber('solo');
    const settings = await customer.request('PATCH', '/api/billing/topup/settings/', {
      body: { auto_topup_amount_cents: 10_000 },
    });
    expect(settings.body.preview_credits).to.equal(Math.floor((10_000 * 300) / 900));
    expect((await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } })).status).to.equal(
      200,
    );
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 300],
      ['topup', 1_666],
    ]);
  });

  it('can be changed: the difference of the month is granted once', async () => {
    const customer = await createSubscriber('solo');
    for (const plan of ['small-team', 'solo', 'small-team'])
      expect((await checkout(customer, plan)).status).to.equal(200);
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 300],
      ['grant', 700],
    ]);
    expect((await getUsage(customer)).jobs.parallel_limit).to.equal(12);
  });

  it('are shown by pages: hidden ones only to their subscribers, without a button', async () => {
    const { text } = await createBrowserFor(await createSubscriber('solo')).request(
      `${service.baseUrl}/account/billing/`,
    );
    expect(text).to.match(/Solo <span class="tag">Your plan<\/span>/);
    expect(text).to.include('Change to Small team').and.to.include('Support &lt;within> a day');
    expect(text).to.include('1,000 credits every month').and.to.not.include('Founders').and.to.not.include('Studio');
    const founder = await createBrowserFor(await createFounder()).request(`${service.baseUrl}/account/billing/`);
    expect(founder.text).to.match(/Founders <span class="tag">Your plan<\/span>/);
    expect(founder.text).to.include('Change to Solo').and.to.not.include('Change to Founders');
  });

  it('remain those of their subscribers while hidden, who can buy credits and change to another plan', async () => {
    const founder = await createFounder();
    expect((await founder.request('GET', '/api/billing/status/')).body.plan.slug).to.equal('founders');
    expect((await founder.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } })).status).to.equal(
      200,
    );
    expect((await founder.ledger()).at(-1)).to.deep.equal(['topup', 10_000]);
    expectError(await checkout(founder, 'founders'), 'validation_error', 'plan');
    expect((await checkout(founder, 'solo')).status).to.equal(200);
    expectError(await checkout(founder, 'founders'), 'validation_error', 'plan');
  });

  it('are those of the staff metrics, also hidden ones, and of the usage that assistants read', async () => {
    const boss = await createCustomer(service.baseUrl, null);
    await changeOwner(service, boss.email, 'email', 'boss@example.com');
    await createFounder();
    const { body } = await boss.request('GET', '/api/admin/metrics/');
    const plans = body.subscriptions.by_plan as { slug: string; count: number; yearly_cents: number }[];
    expect(plans.map(({ slug }) => slug)).to.deep.equal(['solo', 'founders', 'small-team']);
    const founders = plans[1] as (typeof plans)[number];
    expect(founders.count).to.be.greaterThan(0);
    expect(founders.yearly_cents).to.equal(6_000 * founders.count);

    const customer = await createSubscriber('small-team');
    const session = await openMcpSession(customer);
    const reply = await postMcp(customer, buildToolCall('get_usage', {}), { headers: session });
    expect(reply.body.result.structuredContent.plan).to.include({ slug: 'small-team', monthly_credits: 1_000 });
  });
});
