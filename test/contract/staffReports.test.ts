import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { REPORTS } from '../../shared/domain/reports/index.ts';
import { sumGenerationHours } from '../../shared/domain/reports/generationHours.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import {
  buildGenerations,
  expectedMargin,
  expectedOutcomes,
  type FixtureGeneration,
  formatDay,
  isCanceled,
  isFailure,
  parseCsv,
  RANGE,
  SECRET_PROMPT,
  sum,
  writeReportFixture,
} from '../harness/reportFixture.ts';
import { changeOwner } from '../harness/people.ts';
import { useTestService } from '../harness/testService.ts';

type CsvRow = Record<string, string | number>;

const percent = (part: number, whole: number) => Math.round((1_000 * part) / whole) / 10;

const isCurrent = ({ createdAt }: FixtureGeneration) => formatDay(createdAt) >= RANGE.from;
const findTotal = (rows: CsvRow[]) => rows.find((row) => Object.values(row)[0] === 'Total') as CsvRow;

describe('reports for staff', () => {
  const emails = { admin: `${randomUUID()}@example.com`, support: `${randomUUID()}@example.com` };
  const service = useTestService({
    workers: 0,
    env: { STAFF_EMAILS: `${emails.admin},${emails.support}:support` },
  });
  let staff: TestCustomer;
  let support: TestCustomer;
  const generations = buildGenerations();
  const current = generations.filter(isCurrent);
  const previous = generations.filter((generation) => !isCurrent(generation));

  before(async () => {
    staff = await service.createCustomer('pro');
    support = await service.createCustomer(null);
    await changeOwner(service, staff.email, 'email', emails.admin);
    await changeOwner(service, support.email, 'email', emails.support);
    await writeReportFixture(service, generations);
    // The history of two months takes several runs.
    for (let run = 0; run < 5; run += 1) await sumGenerationHours();
  });

  const visit = (slug: string, query: Record<string, string> = RANGE) =>
    createBrowserFor(staff).request(
      `${service.baseUrl}/admin/reports/${slug}${slug === '' ? '' : '/'}?${new URLSearchParams(query).toString()}`,
    );
  const readCsv = async (slug: string, table: string, query: Record<string, string> = RANGE): Promise<CsvRow[]> => {
    const { status, headers, text } = await visit(slug, { ...query, format: 'csv', table });
    expect([status, headers.get('content-type')], text).to.deep.equal([200, 'text/csv; charset=utf-8']);
    return parseCsv(text);
  };
  const readMetrics = async () => (await staff.request('GET', '/api/admin/metrics/')).body;

  describe('failed generations', () => {
    it('are counted by reason and upstream, with their share, credits and the latest example', async () => {
      const rows = await readCsv('failures', 'reasons');
      const failed = current.filter(isFailure);
      const total = findTotal(rows);
      expect(total).to.include({
        failed: failed.length,
        failed_previous: previous.filter(isFailure).length,
        refunded_credits: sum(failed, ({ credits }) => credits),
        share_percent: percent(failed.length, current.length),
      });
      expect(total['failed_change']).to.equal(Number(total['failed']) - Number(total['failed_previous']));
      for (const row of rows.slice(0, -1)) {
        const members = failed.filter(
          ({ upstream, model, error }) =>
            (upstream === null ? 'Not submitted' : `${upstream}:v1`) === row['upstream'] &&
            (model === 'imgmodel-2' ? 'Image model' : 'Video model') === row['model'] &&
            (error?.includes(SECRET_PROMPT) ? "Rejected with a message of the upstream's own." : error) ===
              row['reason'],
        );
        const latest = members.toSorted((a, b) => b.completedAt!.getTime() - a.completedAt!.getTime())[0];
        expect(row, JSON.stringify(row)).to.include({
          failed: members.length,
          refunded_credits: sum(members, ({ credits }) => credits),
          example_generation: latest?.uuid ?? '',
          last_failed_at: latest?.completedAt?.toISOString() ?? '',
        });
      }
      expect(sum(rows.slice(0, -1), (row) => Number(row['failed']))).to.equal(failed.length);
    });

    it('cover the last 24 hours without dates', async () => {
      const rows = await readCsv('failures', 'upstreams', {});
      const hour = 3_600_000;
      const since = Math.floor(Date.now() / hour) * hour - 23 * hour;
      const recent = generations.filter(({ createdAt }) => createdAt.getTime() >= since);
      const before = generations.filter(
        ({ createdAt }) => createdAt.getTime() < since && createdAt.getTime() >= since - 24 * hour,
      );
      const total = findTotal(rows);
      expect(total).to.include({ generations: recent.length, generations_previous: before.length });
      expect(total['failed']).to.equal(recent.filter(isFailure).length);
    });

    it('count generations that their owners canceled apart, and not in the failure rate', async () => {
      expect(current.some(isCanceled)).to.equal(true);
      expect(findTotal(await readCsv('failures', 'upstreams'))).to.include(expectedOutcomes(current));
    });

    it('show no message of an upstream, which may quote the prompt', async () => {
      const { text } = await visit('failures');
      expect(text).to.include("Rejected with a message of the upstream's own.").and.to.not.include(SECRET_PROMPT);
      expect((await visit('failures', { ...RANGE, format: 'csv' })).text).to.not.include(SECRET_PROMPT);
    });
  });

  describe('upstream health', () => {
    before(() =>
      service.sql(
        `INSERT INTO upstream_hours (hour, model, upstream, probes, failed_probes, failed_submissions, circuit_openings)
         SELECT date_trunc('hour', now()) - d * interval '1 day', 'imgmodel-2', 'fal:v1', 100, d, 2, 1 FROM generate_series(0, 4) AS d`,
      ),
    );

    it('has rates, latencies and health checks of each upstream, and the same by day', async () => {
      const rows = await readCsv('upstreams', 'upstreams');
      const row = rows.find(({ upstream, model }) => upstream === 'fal:v1' && model === 'Image model') as CsvRow;
      const members = current.filter(({ upstream, model }) => upstream === 'fal' && model === 'imgmodel-2');
      const succeeded = members.filter(({ status }) => status === 'succeeded');
      const seconds = succeeded.map((one) => (one.completedAt!.getTime() - one.submittedAt!.getTime()) / 1_000);
      expect(row).to.include({
        generations: members.length,
        ...expectedOutcomes(members),
        latency_mean_seconds: Math.round((10 * sum(seconds, (value) => value)) / seconds.length) / 10,
        latency_max_seconds: Math.max(...seconds),
        probes: 500,
        failed_probes: 10,
        failed_submissions: 10,
        circuit_openings: 5,
      });
      const days = await readCsv('upstreams', 'time');
      expect(sum(days, ({ generations: count }) => Number(count))).to.equal(current.length);
      expect(sum(days, ({ failed_probes: count }) => Number(count))).to.equal(10);
      expect(days.map(({ time }) => String(time).slice(0, 10)).every((day) => day >= RANGE.from)).to.equal(true);
    });

    it('is shown by hour for two days, and by week for a quarter of a year', async () => {
      expect((await visit('upstreams', { from: RANGE.to })).text).to.include('Start of the hour');
      const from = formatDay(new Date(Date.now() - 90 * 86_400_000));
      expect((await visit('upstreams', { from })).text).to.include('Start of the week');
    });
  });

  describe('margin', () => {
    it('is computed by model at the rate of the plan or top-up that paid for the credits', async () => {
      const rows = await readCsv('margin', 'models');
      for (const [model, slug] of [
        ['Image model', 'imgmodel-2'],
        ['Video model', 'vidmodel-video'],
      ]) {
        const row = rows.find((one) => one['model'] === model) as CsvRow;
        expect(row).to.include(expectedMargin(current.filter((one) => one.model === slug)));
        const before = expectedMargin(previous.filter((one) => one.model === slug));
        expect(row).to.include({
          margin_cents_previous: before.margin_cents,
          margin_cents_change: Number(row['margin_cents']) - before.margin_cents,
        });
      }
    });

    it('is computed by plan, with commissions of referred accounts', async () => {
      const rows = await readCsv('margin', 'plans');
      const byPlan = { Pro: 'pro@example.com', Studio: 'studio@example.com', Lite: 'lite@example.com' };
      for (const [plan, email] of Object.entries(byPlan)) {
        const row = rows.find((one) => one['plan'] === plan) as CsvRow;
        expect(row, plan).to.include(expectedMargin(current.filter((one) => one.account === email)));
      }
      expect(Number(rows.find(({ plan }) => plan === 'Pro')?.['commission_cents'])).to.be.above(0);
      expect(rows.find(({ plan }) => plan === 'No plan')).to.include({ revenue_cents: 0 });
      expect(findTotal(rows)).to.include(expectedMargin(current));
    });
  });

  it('agree with each other and with the staff metrics', async () => {
    const metrics = await readMetrics();
    const [models, plans, failures, reasons, upstreams] = await Promise.all([
      readCsv('margin', 'models'),
      readCsv('margin', 'plans'),
      readCsv('failures', 'upstreams'),
      readCsv('failures', 'reasons'),
      readCsv('upstreams', 'upstreams'),
    ]);
    expect({ ...findTotal(plans), plan: '' }).to.deep.equal({ ...renameFirst(findTotal(models), 'plan'), plan: '' });
    const credits = sum(metrics.daily as { credits_used: number }[], (day) => day.credits_used);
    expect(findTotal(models)).to.include({
      credits,
      provider_cost_cents: metrics.costs.provider_30d_cents,
      generations: current.length,
    });
    for (const rows of [failures, upstreams]) expect(findTotal(rows)['generations']).to.equal(current.length);
    for (const rows of [reasons, upstreams]) expect(findTotal(rows)['failed']).to.equal(findTotal(failures)['failed']);
    expect(findTotal(reasons)['refunded_credits']).to.equal(findTotal(failures)['refunded_credits']);
    const [created] = await readCsv('onboarding', 'funnel');
    expect(created?.['accounts']).to.equal(metrics.users.new_30d);
    const churn = findTotal(await readCsv('churn', 'plans'));
    expect(churn).to.include({
      started: sum(metrics.daily as { new_subscriptions: number }[], (day) => day.new_subscriptions),
      active_now: metrics.subscriptions.active_total,
      ending_now: metrics.subscriptions.cancel_at_period_end,
    });
  });

  it('onboarding shows how many accounts of the range reached each step', async () => {
    const [[counted]] = [
      await service.sql(
        `SELECT count(*)::int AS created, count(*) FILTER (WHERE onboarding_step <> 'profile')::int AS profile,
                count(*) FILTER (WHERE onboarding_step = 'complete')::int AS plan
           FROM accounts WHERE created_at >= $1`,
        [RANGE.from],
      ),
    ];
    const rows = await readCsv('onboarding', 'funnel');
    expect(rows.map(({ accounts }) => accounts)).to.deep.equal([counted.created, counted.profile, counted.plan]);
    expect(rows.map(({ share_percent: share }) => share)).to.deep.equal([
      100,
      percent(counted.profile, counted.created),
      percent(counted.plan, counted.created),
    ]);
    expect(rows[0]).to.include({ accounts_previous: 2 });
  });

  describe('pages', () => {
    it('say what they count, compare with the period before, and stay small', async () => {
      const list = (await visit('')).text;
      for (const { slug, title, definition } of REPORTS) {
        expect(list).to.include(`href="/admin/reports/${slug}/"`);
        const { status, text, headers } = await visit(slug);
        expect(status, slug).to.equal(200);
        expect(headers.get('content-security-policy')).to.include("default-src 'none'");
        expect(text).to.include(`<title>${title} · genmeter</title>`).and.to.include('compared with');
        expect(text).to.include(definition[0]?.split("'")[0]);
        expect(text).to.include('<label for="from">').and.to.include('<label for="to">');
        expect(text).to.not.match(/<script|<style| style=| on\w+=|<th>/i);
        expect(Buffer.byteLength(text), slug).to.be.below(100_000);
      }
    });

    it('show an arrow only where a figure has changed, and link the example of a failure', async () => {
      const [, example] = /href="\/admin\/generations\/([0-9a-f-]{36})\/"/.exec((await visit('failures')).text) ?? [];
      expect(generations.map(({ uuid }) => uuid)).to.include(example);
      const { text } = await visit('margin');
      expect(text).to.match(/[↑↓] [\d,.]+ %<span class="unseen">, [^<]+ before</);
      expect(text).to.not.match(/no change|>– before/);
    });

    it('draw failures by upstream, and started and ended subscriptions, over the whole range', async () => {
      expect((await visit('upstreams')).text).to.include('<svg role="img" aria-label="Failed generations by day"');
      expect((await visit('churn')).text).to.include('<svg role="img" aria-label="Subscriptions started by day"');
    });

    it('reject dates that are no range with a sentence and the form', async () => {
      const tomorrow = formatDay(new Date(Date.now() + 86_400_000));
      for (const [query, sentence] of [
        [{ from: 'yesterday' }, 'from must be a day such as'],
        [{ from: '2026-02-30' }, 'from must be a day such as'],
        [{ from: '1999-12-31' }, 'from must be a day such as'],
        [{ to: '2026-11-22T00:00' }, 'to must be a day such as'],
        [{ to: tomorrow }, 'to must not be after today'],
        [{ from: RANGE.to, to: RANGE.from }, 'from must not be after to.'],
        [{ from: '2020-01-01', to: RANGE.to }, 'The range must have at most 366 days.'],
        [{ format: 'xml' }, 'format must be csv'],
        [{ format: 'csv', table: 'none' }, 'table must be one of'],
      ] as [Record<string, string>, string][]) {
        for (const { slug } of REPORTS) {
          const { status, text } = await visit(slug, query);
          expect([status, text.includes(sentence)], `${slug} ${JSON.stringify(query)}`).to.deep.equal([400, true]);
          expect(text).to.include('<label for="from">').and.to.include('<title>Error: ');
        }
      }
    });

    it('treat empty dates of the form as missing ones', async () => {
      const { status, text } = await visit('margin', { from: '', to: '' });
      expect(status).to.equal(200);
      expect(text).to.include(`name="from" value="${RANGE.from}"`).and.to.include(`name="to" value="${RANGE.to}"`);
    });
  });
});

/** Replaces the name of the first column. */
function renameFirst(row: CsvRow, name: string): CsvRow {
  const [, ...others] = Object.entries(row);
  return { [name]: '', ...Object.fromEntries(others) };
}
