import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { sumGenerationHours } from '../../shared/domain/reports/generationHours.ts';
import { runAdmin } from '../harness/adminCommand.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { completeAllGenerations, seedImages } from '../harness/seeds.ts';
import { changeOwner } from '../harness/people.ts';
import { useTestService } from '../harness/testService.ts';
import { expectTimestamp } from '../harness/errorEnvelope.ts';

const PATH = '/api/admin/metrics/';
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** Counts the metrics from the raw rows. */
const RAW = `
  WITH lately AS (SELECT (now() AT TIME ZONE 'UTC')::date - 29 AS since),
  price AS (SELECT * FROM (VALUES ('lite', 7200), ('starter', 14400), ('pro', 34800), ('studio', 90000)) p (slug, cents)),
  live AS (SELECT * FROM subscriptions WHERE status IN ('active', 'past_due'))
  SELECT (SELECT count(*)::int FROM accounts) AS users,
         (SELECT count(*)::int FROM accounts, lately WHERE (created_at AT TIME ZONE 'UTC')::date >= since) AS new_users,
         (SELECT json_object_agg(s.step, (SELECT count(*) FROM accounts WHERE onboarding_step = s.step))
            FROM unnest(ARRAY['profile', 'plan', 'complete']) AS s (step)) AS onboarding,
         (SELECT count(*)::int FROM live) AS active,
         (SELECT count(*)::int FROM live WHERE cancel_at_period_end) AS canceling,
         (SELECT sum(cents)::int FROM live JOIN price ON slug = plan_slug) AS yearly,
         (SELECT sum(amount_cents - reversed_cents)::int FROM topups, lately
           WHERE status = 'succeeded' AND (completed_at AT TIME ZONE 'UTC')::date >= since) AS topups,
         (SELECT round(sum(provider_cost_cents))::int FROM generations, lately
           WHERE (created_at AT TIME ZONE 'UTC')::date >= since) AS cost,
         (SELECT json_agg(json_build_object('date', to_char(d, 'YYYY-MM-DD'),
             'signups', (SELECT count(*) FROM accounts WHERE (created_at AT TIME ZONE 'UTC')::date = d),
             'new_subscriptions', (SELECT count(*) FROM subscriptions WHERE (activated_at AT TIME ZONE 'UTC')::date = d),
             'credits_used', (SELECT coalesce(sum(credits_charged), 0) FROM generations
                               WHERE status <> 'failed' AND refunded_at IS NULL AND (created_at AT TIME ZONE 'UTC')::date = d),
             'provider_cost_cents', (SELECT coalesce(round(sum(provider_cost_cents)), 0) FROM generations
                               WHERE (created_at AT TIME ZONE 'UTC')::date = d)) ORDER BY d)
            FROM lately, generate_series(since, since + 29, '1 day') AS d) AS daily,
         (SELECT json_agg(json_build_object('model', name,
             'generations', (SELECT count(*) FROM generations WHERE model = slug),
             'credits', (SELECT coalesce(sum(credits_charged), 0) FROM generations WHERE model = slug AND status <> 'failed' AND refunded_at IS NULL),
             'provider_cost_cents', (SELECT coalesce(round(sum(provider_cost_cents)), 0) FROM generations WHERE model = slug)))
            FROM (VALUES ('vidmodel-video', 'Video model'), ('imgmodel-2', 'Image model')) m (slug, name)) AS by_model`;

describe('staff metrics', () => {
  const email = `${randomUUID()}@example.com`;
  const service = useTestService({ workers: 2, env: { STAFF_EMAILS: `boss@example.com, ${email.toUpperCase()}` } });
  let staff: TestCustomer;

  before(async () => {
    staff = await service.createCustomer(null);
    await changeOwner(service, staff.email, 'email', email);
    await service.createCustomer('pro');
  });

  const metrics = async () => {
    const { status, body } = await staff.request('GET', PATH);
    expect(status).to.equal(200);
    return body;
  };

  const expectRaw = async () => {
    const [[raw], body] = [await service.sql(RAW), await metrics()];
    expect(body.users).to.deep.equal({ total: raw.users, new_30d: raw.new_users, onboarding: raw.onboarding });
    expect(body.subscriptions.active_total).to.equal(raw.active);
    expect(body.subscriptions.cancel_at_period_end).to.equal(raw.canceling);
    expect(body.revenue).to.deep.equal({
      run_rate_yearly_cents: raw.yearly,
      effective_monthly_cents: raw.yearly / 12,
      topups_30d_cents: raw.topups,
    });
    expect(body.costs).to.deep.equal({
      provider_30d_cents: raw.cost,
      per_active_user_monthly_cents: Math.round(raw.cost / raw.active),
    });
    const revenue = raw.yearly / 12 + raw.topups;
    expect(body.margins).to.deep.equal({
      monthly_revenue_cents: revenue,
      monthly_cost_cents: raw.cost,
      gross_margin_pct: Math.round((1_000 * (revenue - raw.cost)) / revenue) / 10,
    });
    expect(body.daily).to.deep.equal(raw.daily);
    expect(body.by_model).to.deep.equal(raw.by_model);
    return body;
  };

  /** Sums all hours again, instead of those that may change after a minute. */
  const sumAllHours = async () => {
    await service.sql('DELETE FROM generation_hours; DELETE FROM report_progress');
    await sumGenerationHours();
    const [{ finalHours }] = await service.sql(
      `SELECT count(*)::int AS "finalHours" FROM generation_hours
        WHERE hour < (SELECT finished_until FROM report_progress) AND NOT is_open`,
    );
    return finalHours as number;
  };

  it('are shown to staff whatever the case of their address, by key and by cookie', async () => {
    for (const { status } of [await staff.request('GET', PATH), await staff.requestWithSession('GET', PATH)])
      expect(status).to.equal(200);
    expect((await staff.requestWithSession('GET', '/authentication/me/')).body.user.is_staff).to.equal(true);
  });

  describe('the response', () => {
    it('has the fields of the specification', async () => {
      const body = await metrics();
      expectTimestamp(body.generated_at);
      const fields = ['generated_at', 'users', 'subscriptions', 'revenue', 'costs', 'margins', 'daily', 'by_model'];
      expect(body).to.have.all.keys(fields);
      expect(body.subscriptions.by_plan.map(({ slug, name }: Record<string, string>) => [slug, name])).to.deep.equal([
        ['lite', 'Lite'],
        ['starter', 'Starter'],
        ['pro', 'Pro'],
        ['studio', 'Studio'],
      ]);
      expect(body.subscriptions.by_plan[2]).to.include({ count: 1, yearly_cents: 34_800 });
      expect(body.daily.map(({ date }: { date: string }) => date)).to.deep.equal(
        Array.from({ length: 30 }, (_, index) => daysAgo(29 - index)),
      );
    });

    it('equals the raw rows: signups, plans, top-ups, credits net of refunds, and provider cost', async () => {
      const customers = await Promise.all(['lite', 'pro', 'studio', null].map((plan) => service.createCustomer(plan)));
      const [lite, pro, studio] = customers as [TestCustomer, TestCustomer, TestCustomer];
      await lite.requestWithSession('PATCH', '/authentication/me/', { body: { first_name: 'Ada' } });
      await lite.requestWithSession('POST', '/authentication/onboarding/advance/', {
        body: { step_completed: 'profile' },
      });
      await pro.request('POST', '/api/billing/topup/', { body: { amount_cents: 12_345 } });
      await lite.request('POST', '/api/billing/checkout/', { body: { plan: 'starter' } });
      const made = await Promise.all([pro.createVideo(), pro.createImage(), studio.createImage(), lite.createVideo()]);
      const owners = [pro, pro, studio, lite];
      await Promise.all(made.map(({ uuid }, index) => (owners[index] as TestCustomer).waitForEnd(uuid)));
      service.upstream.submit = 'refuse';
      expect((await studio.waitForEnd((await studio.createVideo()).uuid)).status).to.equal('failed');
      service.upstream.submit = undefined;

      const body = await expectRaw();
      expect(body.users.total).to.equal(6);
      expect(body.daily.at(-1)).to.include({ signups: 6, new_subscriptions: 4, credits_used: 86 });
      expect(body.revenue.topups_30d_cents).to.equal(12_345);
      expect(body.costs.provider_30d_cents).to.be.above(0);
      expect(body.subscriptions.by_plan.map(({ count }: { count: number }) => count)).to.deep.equal([0, 1, 2, 1]);
    });

    it('follows later changes, and drops values older than 30 days where the period is limited', async () => {
      await service.sql(`UPDATE subscriptions SET cancel_at_period_end = true WHERE plan_slug = 'studio'`);
      service.fabricated.add('returned-topups-have-no-remainder');
      await service.sql(`UPDATE topups SET reversed_cents = 345`);
      const before = await metrics();
      const old = await service.createCustomer(null);
      await service.sql(`DELETE FROM api_keys WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`, [
        old.email,
      ]);
      await service.sql(`DELETE FROM sessions WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`, [
        old.email,
      ]);
      await service.sql(`DELETE FROM security_events WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`, [
        old.email,
      ]);
      await service.sql(`DELETE FROM members WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`, [
        old.email,
      ]);
      await service.sql('DELETE FROM accounts WHERE email = $1', [old.email]);
      await service.sql('DELETE FROM people WHERE email = $1', [old.email]);
      await service.sql(
        `INSERT INTO accounts (uuid, email, social_provider, created_at)
         SELECT gen_random_uuid(), 'old-' || days || '@example.com', 'dev', now() - days * interval '1 day'
           FROM unnest(ARRAY[29, 30, 400]) AS days`,
      );
      await service.sql(INSERT_OWNERS);
      const body = await expectRaw();
      expect(body.subscriptions.cancel_at_period_end).to.equal(1);
      expect(body.revenue.topups_30d_cents).to.equal(12_000);
      expect(body.users.total).to.equal(before.users.total + 3);
      expect(body.users.new_30d).to.equal(before.users.new_30d + 1);
    });
  });

  describe('the hours', () => {
    it('do not change the metrics when they become final', async () => {
      for (const worker of service.workers.splice(0)) await worker.kill();
      const customer = await service.createCustomer('studio');
      await seedImages(service, customer, 5, 3);
      await seedImages(service, customer, 3, 400);
      await service.sql('DELETE FROM generation_hours; DELETE FROM report_progress');
      const before = await expectRaw();
      expect(await sumAllHours()).to.equal(2);
      service.fabricated.delete('final-hours-match-generations');
      await customer.createImage();
      const after = await expectRaw();
      expect(after.by_model[1].generations).to.equal(before.by_model[1].generations + 1);
      await completeAllGenerations(service, customer);
      await Promise.all([sumAllHours(), expectRaw(), expectRaw(), expectRaw()]);
    });

    it('replace the sums of generations that may still change, and add the others once', async () => {
      const customer = await service.createCustomer('studio');
      await seedImages(service, customer, 4, 1 / 24);
      await sumAllHours();
      service.fabricated.delete('final-hours-match-generations');
      const read = () =>
        service.sql('SELECT is_open, sum(generations)::int AS generations FROM generation_hours GROUP BY 1 ORDER BY 1');
      const [final, open] = await read();
      await customer.createImage();
      await service.sql(`UPDATE report_progress SET summed_at = 'epoch'`);
      await sumGenerationHours();
      expect(await read()).to.deep.equal([final, { is_open: true, generations: open.generations + 1 }]);
      await expectRaw();
      await completeAllGenerations(service, customer);
    });

    it('are corrected by the refunds of staff', async () => {
      const [{ uuid, created_at: createdAt }] = await service.sql(
        `SELECT uuid, created_at FROM generations WHERE created_at < now() - interval '2 days' ORDER BY created_at DESC LIMIT 1`,
      );
      const before = await metrics();
      const { status, out } = await runAdmin(
        ['refund-generation', uuid, '--reason', 'goodwill', '--apply'],
        service.env,
      );
      expect(status, out).to.equal(0);
      const after = await expectRaw();
      const day = createdAt.toISOString().slice(0, 10);
      const readCredits = (body: typeof after) =>
        body.daily.find(({ date }: { date: string }) => date === day).credits_used;
      expect(readCredits(after)).to.equal(readCredits(before) - 1);
      expect(after.by_model[1].credits).to.equal(before.by_model[1].credits - 1);
      await sumAllHours();
      await expectRaw();
    });
  });
});
