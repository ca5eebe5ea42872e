import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { runBillingMaintenance } from '../../shared/domain/billing/maintenance.ts';
import { openCircuit } from '../../shared/domain/generations/execution/circuit.ts';
import { sumGenerationHours } from '../../shared/domain/reports/generationHours.ts';
import { getUpstreamRoutes, type UpstreamRoute } from '../../shared/gateways/upstreams/index.ts';
import { enrollAffiliate, followReferralLink, signUpCustomer } from '../harness/affiliates.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { parseCsv } from '../harness/reportFixture.ts';
import { changeOwner } from '../harness/people.ts';
import { eventually, useTestService } from '../harness/testService.ts';

/** Rows that the reports read, written by the service itself. */
describe('sources of the reports for staff', () => {
  const email = `${randomUUID()}@example.com`;
  const service = useTestService({ env: { STAFF_EMAILS: email } });
  let staff: TestCustomer;
  before(async () => {
    staff = await service.createCustomer('pro');
    await changeOwner(service, staff.email, 'email', email);
  });

  const readCsv = async (slug: string, table: string) => {
    const url = `${service.baseUrl}/admin/reports/${slug}/?format=csv&table=${table}`;
    return parseCsv((await createBrowserFor(staff).request(url)).text);
  };
  /** Sums again at once, instead of after a minute. */
  const sumAgain = async () => {
    await service.sql(`UPDATE report_progress SET summed_at = 'epoch'`);
    await sumGenerationHours();
  };

  it('the worker sums generations by itself, with the time from the accepted submission to the end', async () => {
    const { uuid } = await staff.createVideo();
    expect((await staff.waitForEnd(uuid)).status).to.equal('succeeded');
    await eventually(
      'the worker has summed',
      async () => (await service.sql('SELECT 1 FROM report_progress')).length > 0,
    );
    const [row] = await service.sql(
      'SELECT submitted_at, submit_started_at, completed_at FROM generations WHERE uuid = $1',
      [uuid],
    );
    expect(row.submit_started_at).to.equal(null);
    const seconds = (row.completed_at - row.submitted_at) / 1_000;
    let video: Awaited<ReturnType<typeof readCsv>>[number] | undefined;
    // The worker may have begun to sum before the end.
    await eventually('the video is summed', async () => {
      await sumAgain();
      const rows = await readCsv('upstreams', 'upstreams');
      video = rows.find(({ model, generations }) => model === 'Video model' && Number(generations) > 0);
      return video !== undefined;
    });
    expect(video).to.include({ generations: 1, failed: 0 });
    expect(video?.['latency_mean_seconds']).to.be.closeTo(seconds, 0.11);
  });

  it('an hour is summed again until its generations have ended, and counts each of them once', async () => {
    service.upstream.outcome = 'wait';
    const { uuid } = await staff.createImage('in progress');
    const read = async () =>
      (await service.sql('SELECT sum(generations)::int AS all, sum(failed)::int AS failed FROM generation_hours'))[0];
    // The worker sums as well, and may have begun before the change.
    const expectSums = (all: number, failed: number) =>
      eventually(`${all} generations and ${failed} failures are summed`, async () => {
        await sumAgain();
        return isDeepStrictEqual(await read(), { all, failed });
      });
    await expectSums(2, 0);
    await sumAgain();
    expect(await read()).to.deep.equal({ all: 2, failed: 0 });
    service.upstream.end('in progress', 'failed');
    service.upstream.outcome = 'succeed';
    expect((await staff.waitForEnd(uuid)).status).to.equal('failed');
    await expectSums(2, 1);
    const [failure] = await service.sql(
      'SELECT failed::int, refunded_credits::int, example_uuid FROM generation_hours WHERE failed > 0',
    );
    expect(failure).to.deep.equal({ failed: 1, refunded_credits: 8, example_uuid: uuid });
  });

  it('health checks are counted, and an open circuit counts once', async () => {
    await eventually('probes are counted', async () => {
      const [{ probes }] = await service.sql('SELECT coalesce(sum(probes), 0)::int AS probes FROM upstream_hours');
      return probes > 0;
    });
    const route = getUpstreamRoutes()['imgmodel-2']?.[0] as UpstreamRoute;
    await Promise.all([
      openCircuit(route, 'no balance'),
      openCircuit(route, 'no balance'),
      openCircuit(route, 'no balance'),
    ]);
    const [{ openings }] = await service.sql('SELECT sum(circuit_openings)::int AS openings FROM upstream_hours');
    expect(openings).to.equal(1);
    await service.sql('UPDATE upstream_health SET circuit_open_until = NULL');
  });

  it('the end and the renewal of a subscription are recorded once', async () => {
    const [ending, renewing] = await Promise.all([service.createCustomer('lite'), service.createCustomer('studio')]);
    const ofCustomer = 'account_id = (SELECT id FROM accounts WHERE email = $1)';
    const [{ paid_until: due }] = await service.sql(`SELECT paid_until FROM subscriptions WHERE ${ofCustomer}`, [
      renewing.email,
    ]);
    // The year before it has just ended.
    await service.sql(`UPDATE subscriptions SET paid_until = now() - interval '1 minute' WHERE ${ofCustomer}`, [
      renewing.email,
    ]);
    await service.sql(`UPDATE subscriptions SET paid_until = $2, current_period_end = $2 WHERE ${ofCustomer}`, [
      renewing.email,
      due,
    ]);
    await service.sql(
      `UPDATE subscriptions SET paid_until = now() - interval '1 second', current_period_end = now() - interval '1 second'
        WHERE ${ofCustomer}`,
      [ending.email],
    );
    await runBillingMaintenance();
    const rows = await readCsv('churn', 'plans');
    expect(rows.find(({ plan }) => plan === 'Lite')).to.include({
      started: 1,
      lapsed: 1,
      ended: 1,
      churn_percent: 100,
    });
    expect(rows.find(({ plan }) => plan === 'Studio')).to.include({
      started: 1,
      renewed: 1,
      ended: 0,
      churn_percent: 0,
    });
    expect(rows.find(({ plan }) => plan === 'Total')).to.include({ renewed: 1, ended: 1, churn_percent: 50 });
  });

  it('payment events are listed while they wait and after they were given up, without formulas in the file', async () => {
    await service.sql(
      `INSERT INTO payment_events (event_id, type, object_id, payload, received_at)
       VALUES ('evt_1', 'invoice.paid', 'in_1', '{}', now() - interval '3 hours'),
              ('evt_2', 'invoice.paid', 'in_2', '{}', now() - interval '5 days'),
              ('evt_3', 'invoice.paid', 'in_3', '{}', now() - interval '44 days')`,
    );
    await service.sql(
      `INSERT INTO tasks (kind, key, run_at, attempts, last_error, created_at)
       VALUES ('payment.event', 'evt_1', now() + interval '1 day', 4, '=HYPERLINK("x")', now() - interval '3 hours'),
              ('payment.event', 'evt_2', NULL, 12, 'no account', now() - interval '5 days'),
              ('payment.event', 'evt_3', NULL, 12, 'no account', now() - interval '44 days')`,
    );
    const types = await readCsv('payment-events', 'types');
    expect(types[0]).to.include({ type: 'invoice.paid', pending: 1, given_up: 1, given_up_previous: 1 });
    expect(types[0]?.['oldest_seconds']).to.be.within(10_800, 10_900);
    const [pending] = await readCsv('payment-events', 'pending');
    expect(pending).to.include({ event: 'evt_1', attempts: 4, problem: `'=HYPERLINK("x")` });
    const givenUp = await readCsv('payment-events', 'given_up');
    expect(givenUp.map(({ event }) => event)).to.deep.equal(['evt_2']);
    await service.sql('DELETE FROM payment_events');
    await service.sql(`DELETE FROM tasks WHERE kind = 'payment.event'`);
  });

  it('affiliates are listed for review by the rules that the page states', async () => {
    const [{ affiliate, code }, honest] = [
      await enrollAffiliate(service.baseUrl, `boss@own-${randomUUID()}.example`),
      await enrollAffiliate(service.baseUrl),
    ];
    const domain = affiliate.email.split('@')[1] as string;
    for (const [index, address] of [`a@${domain}`, `b@${domain}`, `${randomUUID()}@gmail.com`].entries()) {
      const cookie = await followReferralLink(service.baseUrl, code);
      const customer = await signUpCustomer(service.baseUrl, cookie, address);
      service.fabricated.add('suspensions-are-audited');
      if (index < 2) await service.sql('UPDATE accounts SET suspended_at = now() WHERE email = $1', [customer.email]);
    }
    await signUpCustomer(service.baseUrl, await followReferralLink(service.baseUrl, honest.code));
    const [{ networks, missing }] = await service.sql(
      'SELECT count(DISTINCT network)::int AS networks, count(*) FILTER (WHERE network IS NULL)::int AS missing FROM referrals',
    );
    // One of each affiliate: the hash is keyed with the code.
    expect([networks, missing]).to.deep.equal([2, 0]);
    const rows = await readCsv('affiliates', 'affiliates');
    expect(rows.map((row) => row['code'])).to.deep.equal([code]);
    expect(rows[0]).to.include({ referrals: 3, referrals_previous: 0 });
    for (const found of [
      '3 sign-ups from one network',
      '2 sign-ups at its own email domain',
      '2 of 3 referred accounts suspended',
    ])
      expect(rows[0]?.['signals']).to.include(found);
    const [totals] = await readCsv('affiliates', 'totals');
    expect(totals).to.include({ active: 2, referrals: 4 });
    const { text } = await createBrowserFor(staff).request(`${service.baseUrl}/admin/reports/affiliates/`);
    expect(text)
      .to.include('At least 3 referred accounts signed up from one network')
      .and.to.include('nothing happens automatically');

    await service.sql(
      `UPDATE referrals SET created_at = now() - interval '401 days'
        WHERE affiliate_id = (SELECT account_id FROM affiliates WHERE code = $1)`,
      [honest.code],
    );
    service.fabricated.add('referrals-are-of-new-accounts');
    await pruneTable('referrals');
    const [{ kept }] = await service.sql('SELECT count(network)::int AS kept FROM referrals');
    expect(kept).to.equal(3);
  });
});
