import { expect } from 'chai';
import { getStaffMetrics } from '../../shared/domain/reports/staffMetrics.ts';
import { metricsRegistry } from '../../shared/lib/metrics.ts';
import { IMAGE, type TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { addTestKey, useTestModeService } from '../harness/testMode.ts';
import { startTestService } from '../harness/testService.ts';

/** Views of the live account, which test mode must not change. */
const READ_PATHS = [
  '/api/generations/',
  '/api/ledger/',
  '/api/usage/summary/',
  '/api/billing/status/',
  '/api/billing/invoices/',
  '/api/webhooks/',
] as const;

/** Metrics that count what live accounts do. */
const BUSINESS_METRICS = [
  'genmeter_generations_ended_total',
  'genmeter_credits_burned_total',
  'genmeter_credits_refunded_total',
] as const;

async function readAll(customer: TestCustomer): Promise<string> {
  const responses = await Promise.all(READ_PATHS.map((path) => customer.requestWithSession('GET', path)));
  return JSON.stringify(responses.map(({ status, body }) => ({ status, body })));
}

async function listUuids(customer: TestCustomer): Promise<string[]> {
  const { body } = await customer.request('GET', '/api/generations/');
  return body.data.map(({ uuid }: any) => uuid);
}

async function readBusinessMetrics(): Promise<string> {
  const texts: string[] = await Promise.all(
    BUSINESS_METRICS.map((name) => metricsRegistry.getSingleMetricAsString(name)),
  );
  return texts.join('\n');
}

/** The staff metrics, which test mode must not change. */
const readStaffMetrics = async () => ({ ...(await getStaffMetrics()), generatedAt: null });

describe('test mode', () => {
  const mode = useTestModeService();
  beforeEach(() => {
    mode.testUpstream.reset();
    mode.service.upstream.reset();
  });

  describe('a test key', () => {
    it('is shown as such when it is created and listed, and other keys are shown as before', async () => {
      const customer = await mode.service.createCustomer();
      const { uuid } = await addTestKey(customer);
      const { body } = await customer.request('GET', '/api/keys/');
      const [test, live] = body.data;
      expect(test).to.include({ uuid, name: 'ci', mode: 'test' });
      expect(live).to.not.have.property('mode');
      const created = await customer.request('POST', '/api/keys/create/', { body: { name: 'live', mode: 'live' } });
      expect(created.body).to.not.have.property('mode');
    });

    it('counts among the 20 active keys of the account, and is revoked like any other', async () => {
      const customer = await mode.service.createCustomer(null);
      const { uuid, tester } = await addTestKey(customer);
      for (let count = 2; count < 20; count += 1) {
        const { status } = await customer.request('POST', '/api/keys/create/', { body: { name: `k${count}` } });
        expect(status).to.equal(201);
      }
      expectError(
        await customer.request('POST', '/api/keys/create/', { body: { name: 'one more', mode: 'test' } }),
        'validation_error',
      );
      await customer.request('POST', `/api/keys/${uuid}/revoke/`);
      expectError(await tester.createGeneration(IMAGE), 'invalid_api_key');
      expectError(await tester.request('GET', '/api/generations/'), 'invalid_api_key');
    });

    it('shares the test account of the account with other test keys, also those created at the same time', async () => {
      const customer = await mode.service.createCustomer(null);
      const keys = await Promise.all(['a', 'b', 'c', 'd'].map((name) => addTestKey(customer, name)));
      const { uuid } = await (keys[0] as (typeof keys)[0]).tester.createImage();
      for (const { tester } of keys) expect((await tester.waitForEnd(uuid)).status).to.equal('succeeded');
      expect(
        await mode.service.sql(
          `SELECT 1 FROM accounts t JOIN accounts a ON a.id = t.live_account_id WHERE a.email = $1`,
          [customer.email],
        ),
      ).to.have.lengthOf(1);
    });

    it('is rejected with the name of the field if the service has no test upstream', async () => {
      const service = await startTestService({ workers: 0 });
      const customer = await service.createCustomer(null);
      const response = await customer.request('POST', '/api/keys/create/', { body: { name: 'ci', mode: 'test' } });
      expectError(response, 'validation_error');
      expect(response.body.detail).to.include('mode');
      await service.stop();
    });
  });

  describe('a generation with a test key', () => {
    it('runs on the test upstream, costs nothing, needs no subscription and is watermarked', async () => {
      const { tester } = await addTestKey(await mode.service.createCustomer(null));
      const created = await tester.createGeneration({ ...VIDEO, prompt: 'a test' });
      expect(created.status).to.equal(201);
      expect(created.body).to.include({ credits_charged: 0, status: 'queued' });
      const ended = await tester.waitForEnd(created.body.uuid);
      expect(ended).to.include({ status: 'succeeded', credits_charged: 0, is_watermarked: true });
      expect(mode.testUpstream.jobsFor('a test')).to.have.lengthOf(1);
      expect(mode.service.upstream.jobsFor('a test')).to.have.lengthOf(0);
      expect(await tester.ledger()).to.deep.equal([]);
      expect(await tester.balance()).to.equal(0);
    });

    it('leaves what the live account reads, the staff metrics and the counters of Prometheus as they were', async () => {
      const customer = await mode.service.createCustomer();
      await customer.waitForEnd((await customer.createImage()).uuid);
      const { tester } = await addTestKey(customer);
      const before = [await readAll(customer), await readStaffMetrics(), await readBusinessMetrics()];
      const images = await Promise.all([tester.createImage(), tester.createImage()]);
      for (const { uuid } of images) await tester.waitForEnd(uuid);
      mode.testUpstream.outcome = 'fail';
      const failed = await tester.waitForEnd((await tester.createVideo()).uuid);
      expect(failed).to.include({ status: 'failed', credits_charged: 0 });
      mode.testUpstream.outcome = 'wait';
      const { uuid } = await tester.createImage();
      await tester.request('POST', `/api/generations/${uuid}/cancel/`);
      mode.testUpstream.outcome = 'succeed';
      await tester.request('DELETE', `/api/generations/${images[0].uuid}/`);
      expect([await readAll(customer), await readStaffMetrics(), await readBusinessMetrics()]).to.deep.equal(before);
      const summary = (await tester.request('GET', '/api/usage/summary/')).body;
      expect(summary.by_model.map(({ count, credits }: any) => [count, credits])).to.have.deep.members([
        [3, 0],
        [1, 0],
      ]);
    });

    it('is not found by the live account, nor a live one by the test key', async () => {
      const customer = await mode.service.createCustomer();
      const { tester } = await addTestKey(customer);
      const [live, test] = await Promise.all([customer.createImage(), tester.createImage()]);
      expectError(await customer.readGeneration(test.uuid), 'not_found');
      expectError(await customer.requestWithSession('GET', `/api/generations/${test.uuid}/`), 'not_found');
      expectError(await tester.readGeneration(live.uuid), 'not_found');
      expectError(await tester.request('DELETE', `/api/generations/${live.uuid}/`), 'not_found');
      expectError(await tester.request('POST', `/api/generations/${live.uuid}/cancel/`), 'not_found');
      expect(await listUuids(customer)).to.deep.equal([live.uuid]);
      expect(await listUuids(tester)).to.deep.equal([test.uuid]);
      await Promise.all([customer.waitForEnd(live.uuid), tester.waitForEnd(test.uuid)]);
    });

    it('has idempotency keys of its own', async () => {
      const customer = await mode.service.createCustomer();
      const { tester } = await addTestKey(customer);
      const options = {
        body: { ...IMAGE, prompt: 'twice' },
        headers: { 'idempotency-key': 'the same for both' },
      };
      const path = '/api/generations/create/';
      const [live, test, again] = [
        await customer.request('POST', path, options),
        await tester.request('POST', path, options),
        await tester.request('POST', path, options),
      ];
      expect(test.body.uuid).to.not.equal(live.body.uuid);
      expect(again.body.uuid).to.equal(test.body.uuid);
      expect([live.body.credits_charged, test.body.credits_charged]).to.deep.equal([8, 0]);
      await Promise.all([customer.waitForEnd(live.body.uuid), tester.waitForEnd(test.body.uuid)]);
    });

    it('is estimated at 0 credits, and is one of at most 4 in progress', async () => {
      const { tester } = await addTestKey(await mode.service.createCustomer(null));
      const estimate = await tester.request('POST', '/api/generations/estimate/', {
        body: { ...IMAGE, prompt: 'how much?', max_credits: 1 },
      });
      expect(estimate.body).to.include({ credits: 0, balance: 0, balance_after: 0, affordable: true, refusal: null });
      mode.testUpstream.outcome = 'wait';
      const prompts = ['p1', 'p2', 'p3', 'p4'];
      const created = await Promise.all(prompts.map((prompt) => tester.createImage(prompt)));
      const rejected = await tester.createGeneration(IMAGE);
      expectError(rejected, 'parallel_limit_reached');
      expect(rejected.body.detail).to.not.include('plan');
      const { jobs } = (await tester.request('GET', '/api/usage/summary/')).body;
      expect(jobs).to.deep.equal({ in_flight: 4, parallel_limit: 4 });
      mode.testUpstream.reset();
      await mode.service.sql('SELECT 1');
      for (const { uuid } of created) {
        while ((await tester.readGeneration(uuid)).body.status === 'queued') {
          for (const prompt of prompts) mode.testUpstream.end(prompt, 'succeeded');
        }
      }
    });

    it('runs while no live upstream is available', async () => {
      const { tester } = await addTestKey(await mode.service.createCustomer(null));
      mode.service.upstream.submit = 'refuse';
      expect((await tester.waitForEnd((await tester.createImage()).uuid)).status).to.equal('succeeded');
    });

    it('works over MCP', async () => {
      const { tester } = await addTestKey(await mode.service.createCustomer(null));
      const headers = await openMcpSession(tester);
      const call = (name: string, args: object) => postMcp(tester, buildToolCall(name, args), { headers });
      const image = await call('generate_image', { prompt: 'by an assistant', resolution: '1K' });
      const { uuid } = image.body.result.structuredContent;
      expect((await tester.waitForEnd(uuid)).is_watermarked).to.equal(true);
      expect(mode.testUpstream.jobsFor('by an assistant')).to.have.lengthOf(1);
      const library = await call('list_library', {});
      expect(JSON.stringify(library.body.result)).to.include(uuid);
    });
  });

  describe('other endpoints with a test key', () => {
    it('refuse changes of billing, keys, notifications and the affiliate program', async () => {
      const customer = await mode.service.createCustomer();
      const { uuid, tester } = await addTestKey(customer);
      const changes: [string, string, object][] = [
        ['POST', '/api/billing/checkout/', { plan: 'pro' }],
        ['POST', '/api/billing/portal/', {}],
        ['POST', '/api/billing/topup/', { amount_cents: 5000 }],
        ['PATCH', '/api/billing/topup/settings/', { enabled: true }],
        ['POST', '/api/keys/create/', { name: 'another' }],
        ['POST', `/api/keys/${uuid}/revoke/`, {}],
        ['PATCH', '/api/notifications/settings/', {}],
        ['POST', '/api/affiliate/enroll/', {}],
        ['POST', '/api/affiliate/onboarding-link/', {}],
      ];
      for (const [method, path, body] of changes)
        expectError(await tester.request(method, path, { body }), 'insufficient_scope');
      expectError(await tester.request('GET', '/api/admin/metrics/'), 'admin_required');
    });

    it('read the test account, and list the test keys with their use in test mode', async () => {
      const customer = await mode.service.createCustomer();
      await customer.waitForEnd((await customer.createImage()).uuid);
      const { uuid, tester } = await addTestKey(customer);
      await tester.waitForEnd((await tester.createImage()).uuid);
      const status = (await tester.request('GET', '/api/billing/status/')).body;
      expect(status).to.include({ plan: null, status: 'none' });
      const keys = (await tester.request('GET', '/api/keys/')).body;
      expect(keys.data.map((key: any) => key.uuid)).to.deep.equal([uuid]);
      const usage = (await tester.request('GET', '/api/usage/keys/')).body;
      expect(usage.data.map((key: any) => [key.uuid, key.credits, key.count])).to.deep.equal([[uuid, 0, 1]]);
      expect(usage.pagination.total_items).to.equal(1);
      const live = (await customer.request('GET', '/api/usage/keys/')).body.data;
      expect(live.map((key: any) => [key.name, key.credits, key.count])).to.deep.equal([
        ['ci', 0, 0],
        ['test', 8, 1],
      ]);
    });
  });
});
