import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import { connectTo } from '../../dev/local/environment/databases.ts';
import { releaseCatalog } from '../../shared/domain/catalog/release.ts';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { ConfigError } from '../../shared/lib/config.ts';
import { runAdmin } from '../harness/adminCommand.ts';
import { createCustomer, type TestCustomer } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { createDatabase, runRelease } from '../harness/databases.ts';
import { captureError } from '../harness/expectRejection.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const SOLO = { name: 'Solo', price_monthly_cents: 900, monthly_credits: 300, parallel_limit: 2 };
const TEAM = { name: 'Team', price_monthly_cents: 4_000, monthly_credits: 2_000, parallel_limit: 10 };
const DEFAULTS = {
  lite: { name: 'Lite', price_monthly_cents: 600, monthly_credits: 200, parallel_limit: 2 },
  starter: { name: 'Starter', price_monthly_cents: 1_200, monthly_credits: 400, parallel_limit: 3 },
  pro: { name: 'Pro', price_monthly_cents: 2_900, monthly_credits: 1_100, parallel_limit: 5 },
  studio: { name: 'Studio', price_monthly_cents: 7_500, monthly_credits: 3_000, parallel_limit: 8 },
};

const toCatalog = (plans: object): string => JSON.stringify({ plans });

const parsePlans = (plans?: object) => parseCatalog({ CATALOG: plans && toCatalog(plans) });

/** Inserts a subscription, as a sale does. */
async function sell(client: pg.Client, slug: string): Promise<void> {
  await client.query(
    `WITH account AS (
       INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at)
       VALUES ($1, $2, 'google', 'plan', now()) RETURNING id)
     INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at)
     SELECT $1, id, $3, 'incomplete', 'stripe', now(), now(), now(), now() FROM account`,
    [randomUUID(), `${randomUUID()}@example.com`, slug],
  );
}

describe('the release of plans', () => {
  let url: string;
  let client: pg.Client;
  let db: Knex;
  beforeEach(async () => {
    url = await createDatabase();
    client = await connectTo(url);
    db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
  });
  afterEach(() => Promise.all([client.end(), db.destroy()]));

  const expectReleased = (plans?: object): Promise<void> => releaseCatalog(db, parsePlans(plans));

  /** Expects a release to be refused with one sentence, and to store nothing. */
  const expectRefused = async (plans: object | undefined, sentence: string): Promise<void> => {
    const before = await readPlans();
    const error = await captureError(releaseCatalog(db, parsePlans(plans)));
    expect(error).to.be.instanceOf(ConfigError);
    expect(error.message).to.include(sentence);
    expect(await readPlans()).to.deep.equal(before);
  };

  const readPlans = async () => (await client.query('SELECT * FROM catalog_plans ORDER BY slug')).rows;

  it('refuses other terms of a sold plan and its removal, and accepts another name, order and hiding', async () => {
    await expectReleased({ solo: SOLO, team: TEAM });
    await sell(client, 'solo');
    for (const [name, released, value] of [
      ['price_monthly_cents', 900, 1_000],
      ['monthly_credits', 300, 400],
      ['parallel_limit', 2, 1],
    ] as const) {
      await expectRefused(
        { solo: { ...SOLO, [name]: value }, team: TEAM },
        `CATALOG/plans/solo/${name} was released as ${released} and cannot change, because subscribers have it: add a plan with another slug and hide this one.`,
      );
    }
    const removed =
      'CATALOG/plans must contain solo, because accounts have subscribed to it: set its hidden to true to stop selling it.';
    await expectRefused({ team: TEAM }, removed);
    await expectRefused(undefined, removed);
    await expectReleased({
      team: TEAM,
      solo: { ...SOLO, name: 'Solo (2026)', features: ['All'], hidden: true },
      'solo-2027': { ...SOLO, price_monthly_cents: 1_000 },
    });
    expect((await readPlans()).find(({ slug }) => slug === 'solo')).to.include({
      name: 'Solo (2026)',
      removed_at: null,
    });
  });

  it('keeps the terms of a released plan that was never sold, which can be removed and come back', async () => {
    await expectReleased({ solo: SOLO, team: TEAM });
    await expectReleased({ team: TEAM });
    expect((await readPlans()).find(({ slug }) => slug === 'solo').removed_at).to.be.instanceOf(Date);
    await expectRefused(
      { solo: { ...SOLO, monthly_credits: 301 }, team: TEAM },
      'CATALOG/plans/solo/monthly_credits was released as 300 and cannot change, because subscribers may have it',
    );
    await expectReleased({ solo: SOLO });
    expect((await readPlans()).filter(({ removed_at: removedAt }) => removedAt === null)).to.have.length(1);
  });

  it('accepts other terms of a default plan until it is sold or part of a CATALOG', async () => {
    await expectReleased();
    await sell(client, 'pro');
    await expectRefused({ solo: SOLO }, 'CATALOG/plans must contain pro, because accounts have subscribed to it');
    await expectRefused(
      { pro: { ...DEFAULTS.pro, monthly_credits: 1_000 } },
      'CATALOG/plans/pro/monthly_credits was released as 1100 and cannot change, because subscribers have it',
    );
    await expectReleased({ pro: DEFAULTS.pro, lite: { ...DEFAULTS.lite, price_monthly_cents: 500 } });
    await expectRefused(
      { pro: DEFAULTS.pro, lite: DEFAULTS.lite },
      'CATALOG/plans/lite/price_monthly_cents was released as 500 and cannot change, because subscribers may have it',
    );
    await expectRefused(undefined, 'CATALOG/plans/lite/price_monthly_cents was released as 500 and cannot change');
    await expectReleased({ pro: DEFAULTS.pro });
  });

  it('accepts a CATALOG with the default plans and its removal again, whether or not they are sold', async () => {
    await sell(client, 'lite');
    await expectReleased(DEFAULTS);
    await expectReleased();
    await expectReleased(DEFAULTS);
  });

  it('counts a plan as sold once a subscription changes to it', async () => {
    await expectReleased({ solo: SOLO, team: TEAM });
    await sell(client, 'solo');
    await client.query(`UPDATE subscriptions SET plan_slug = 'team'`);
    for (const plans of [{ solo: SOLO }, { team: TEAM }]) await expectRefused(plans, 'CATALOG/plans must contain');
  });

  it('lets commands run only with the plans that were released last', async () => {
    await expectReleased({ solo: SOLO, team: TEAM });
    const env = { DATABASE_URL: url, REDIS_URL: 'redis://127.0.0.1:1' };
    const command = ['find-account', 'ada@example.com'];
    for (const other of [env, { ...env, CATALOG: toCatalog({ solo: SOLO }) }]) {
      const { status, err } = await runAdmin(command, other);
      expect([status, err.includes('CATALOG must be that of the service')], err).to.deep.equal([78, true]);
    }
    const same = { ...env, CATALOG: toCatalog({ team: TEAM, solo: { ...SOLO, hidden: true } }) };
    expect((await runAdmin(command, same)).err).to.not.include('CATALOG');
  });

  it('waits for a first subscription in progress; npm run release then exits with 78 and the sentence', async () => {
    await expectReleased({ solo: SOLO, team: TEAM });
    await client.query('BEGIN');
    await sell(client, 'solo');
    const releasing = runRelease(url, { CATALOG: toCatalog({ team: TEAM }) });
    const observer = await connectTo(url);
    await eventually('the release waits', async () => {
      const { rows } = await observer.query(
        `SELECT 1 FROM pg_locks WHERE relation = 'catalog_plans'::regclass AND NOT granted`,
      );
      return rows.length === 1;
    });
    await client.query('COMMIT');
    await observer.end();
    const { status, output } = await releasing;
    expect([status, output.includes('CATALOG/plans must contain solo')], output).to.deep.equal([78, true]);
  });
});

describe('a plan that is removed while it is sold', () => {
  const service = useTestService({ workers: 0, env: { CATALOG: toCatalog({ solo: SOLO, team: TEAM }) } });

  it('is not sold: the first subscription waits for the release, and is refused', async () => {
    const customer = await createCustomer(service.baseUrl, null);
    const client = await service.database.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE catalog_plans IN SHARE ROW EXCLUSIVE MODE');
    await client.query(`UPDATE catalog_plans SET removed_at = now() WHERE slug = 'solo'`);
    const buying = customer.request('POST', '/api/billing/checkout/', { body: { plan: 'solo' } });
    await eventually('the subscription waits', async () => {
      const rows = await service.sql(
        `SELECT 1 FROM pg_locks WHERE relation = 'catalog_plans'::regclass AND NOT granted`,
      );
      return rows.length === 1;
    });
    await client.query('COMMIT');
    client.release();
    const refused = await buying;
    expect([refused.status, refused.body.error]).to.deep.equal([503, 'internal_error']);
    expect(refused.headers.get('retry-after')).to.equal('60');
    expect(await customer.ledger()).to.deep.equal([]);
    expect((await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'team' } })).status).to.equal(200);
  });
});

describe('the subscribers of a plan', () => {
  const OLD = { solo: SOLO, team: TEAM };
  const NEW = {
    team: TEAM,
    solo: { ...SOLO, name: 'Solo (2026)', hidden: true },
    max: { ...TEAM, name: 'Max', monthly_credits: 3_000, price_monthly_cents: 6_000 },
  };
  const UNRELEASED = { ...NEW, solo: { ...NEW.solo, monthly_credits: 500 } };
  let billing: BillingService;
  let customer: TestCustomer;
  let newApi: string;
  before(async () => {
    // Its first API has the old catalog to the end.
    billing = await startBillingService({
      spawn: 'workers',
      startAt: new Date('2027-01-31T11:50:00Z'),
      plans: parsePlans(NEW).plans,
      env: { CATALOG: toCatalog(OLD) },
    });
    customer = await billing.createCustomer('solo');
  });
  after(() => billing.stop());

  /** Sends a request without a check against the OpenAPI document, which lists the old plans in this process. */
  const send = async (baseUrl: string, path: string, body?: object) => {
    const response = await fetch(`${baseUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };

  const readPlan = async (baseUrl: string) => {
    const { body } = await send(baseUrl, '/api/billing/status/');
    return [body.plan.slug, body.status, body.current_period_end.slice(0, 10)];
  };

  const readGrants = async () => {
    const rows = await billing.service.sql(
      `SELECT amount, description FROM ledger_entries l JOIN accounts a ON a.id = l.account_id
        WHERE a.email = $1 AND entry_type = 'grant' ORDER BY number`,
      [customer.email],
    );
    return rows.map(({ amount, description }) => [amount, description]);
  };

  const replaceWorker = async (plans: object): Promise<void> => {
    await Promise.all(billing.service.workers.map((worker) => worker.stop()));
    await billing.service.startWorker({ CATALOG: toCatalog(plans) });
  };

  it('keep it while it is hidden, in processes with the new and the old catalog, and are granted its credits', async () => {
    expect(await readGrants()).to.deep.equal([[300, 'Monthly credits: Solo plan']]);
    const released = await runRelease(billing.service.env['DATABASE_URL'] as string, { CATALOG: toCatalog(NEW) });
    expect(released.status, released.output).to.equal(0);
    await replaceWorker(NEW);
    newApi = (await billing.service.startApi({ CATALOG: toCatalog(NEW) })).baseUrl;
    await billing.advanceTo(new Date('2027-02-28T12:00:00Z'));
    expect((await readGrants()).at(-1)).to.deep.equal([300, 'Monthly credits: Solo (2026) plan']);
    const { body: plans } = await send(newApi, '/api/billing/plans/');
    expect(plans.map(({ slug }: { slug: string }) => slug)).to.deep.equal(['team', 'max']);
    const again = await send(newApi, '/api/billing/checkout/', { plan: 'solo' });
    expect([again.status, again.body.detail]).to.deep.equal([400, 'plan must be one of: team, max.']);
    for (const baseUrl of [billing.service.baseUrl, newApi])
      expect(await readPlan(baseUrl)).to.deep.equal(['solo', 'active', '2028-01-31']);
  });

  it('are granted the released credits by a process with other plans, which is not ready and sells nothing', async () => {
    const unreleased = await billing.service.startApi({ CATALOG: toCatalog(UNRELEASED) });
    const ready = await send(unreleased.baseUrl, '/api/ready/');
    expect(ready.status).to.equal(503);
    expect(ready.body.detail).to.include('the catalog is not released: run npm run release with this CATALOG');
    const refused = await send(unreleased.baseUrl, '/api/billing/topup/', { amount_cents: 5_000 });
    expect([refused.status, refused.body.error]).to.deep.equal([503, 'internal_error']);
    await unreleased.stop();

    await replaceWorker(UNRELEASED);
    await billing.advanceTo(new Date('2027-03-31T12:00:00Z'));
    expect((await readGrants()).at(-1)).to.deep.equal([300, 'Monthly credits: Solo (2026) plan']);
    await replaceWorker(NEW);
  });

  it('renew a hidden plan at its price', async () => {
    await billing.advanceTo(new Date('2028-02-01T12:00:00Z'));
    expect(await readPlan(newApi)).to.deep.equal(['solo', 'active', '2029-01-31']);
    expect((await readGrants()).map(([amount]) => amount)).to.deep.equal(Array.from({ length: 13 }, () => 300));
    const { body } = await send(newApi, '/api/billing/invoices/');
    expect(body.data.map((invoice: { total_cents: number }) => invoice.total_cents)).to.deep.equal([10_800, 10_800]);
  });

  it('can change to a new plan; a process with the old catalog answers that the plan is being released', async () => {
    const { body } = await send(newApi, '/api/billing/checkout/', { plan: 'max' });
    expect(billing.stripe.confirmPlanSwitch(body.checkout_url)).to.equal('switched');
    await billing.drained();
    expect((await readPlan(newApi))[0]).to.equal('max');
    expect((await readGrants()).at(-1)?.[0]).to.equal(2_700);
    const outdated = await send(billing.service.baseUrl, '/api/usage/summary/');
    expect([outdated.status, outdated.headers.get('retry-after')]).to.deep.equal([503, '60']);
  });
});
