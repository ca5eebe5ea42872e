import { setTimeout } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { connectMcpClient } from '../harness/mcpClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { postUrlEncoded } from '../harness/oauthClient.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

describe('while Postgres or Redis is unavailable', () => {
  let service: TestService;
  let database: FaultProxy;
  let redis: FaultProxy;
  let customer: TestCustomer;
  before(async () => {
    redis = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    service = await startTestService({
      apis: 0,
      workers: 0,
      redisUrl: redis.url,
      env: { RATE_LIMITS: 'on', DATABASE_TIMEOUT_MS: '1500' },
    });
    database = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    await service.startApi({ DATABASE_URL: database.url });
    await service.startWorker({ DATABASE_URL: database.url });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await Promise.all([database.stop(), redis.stop()]);
  });

  const image = () => customer.createGeneration(IMAGE);

  for (const how of ['refuse', 'freeze'] as const) {
    it(`Postgres (${how}): every request gets a 503 in the envelope within 5 s, and succeeds again afterwards`, async () => {
      database[how]();
      const startedAt = Date.now();
      const refresh = { grant_type: 'refresh_token', client_id: 'x', refresh_token: 'x' };
      const refreshed = postUrlEncoded(service.baseUrl, '/token', refresh);
      const responses = await Promise.all([
        customer.request('GET', '/api/ledger/'),
        customer.requestWithSession('GET', '/authentication/me/'),
        customer.request('GET', '/api/generations/00000000-0000-7000-8000-000000000000/'),
        image(),
      ]);
      expectOAuthError(await refreshed, 'temporarily_unavailable', 503);
      expect(Date.now() - startedAt).to.be.below(scaleTimeout(5_000));
      for (const response of responses) {
        expect(response.status).to.equal(503);
        expect(response.body.error).to.equal('internal_error');
        expect(response.headers.get('retry-after')).to.match(/^\d+$/);
      }
      expect((await service.request('GET', '/api/health/')).status).to.equal(200);
      database.open();
      await eventually('recovered', async () => (await image()).status === 201);
    });
  }

  it('Postgres (freeze): every one of many simultaneous creates of an account gets a response within 5 s', async () => {
    service.upstream.outcome = 'wait';
    const busy = await service.createCustomer('studio');
    expect((await busy.createGeneration(IMAGE)).status).to.equal(201);
    const seen: { status: number; ms: number }[] = [];
    const certain: string[] = [];
    const creates = Array.from({ length: 40 }, async (_, index) => {
      // More requests arrive while the first ones run: each would wait for all before it.
      await setTimeout(50 * index);
      const startedAt = performance.now();
      const prompt = `image ${index}`;
      const response = await busy.createGeneration({ ...IMAGE, prompt });
      seen.push({ status: response.status, ms: performance.now() - startedAt });
      if (response.status !== 503) return;
      expect(response.body.error).to.equal('internal_error');
      expect(response.headers.get('retry-after')).to.match(/^\d+$/);
      if (/No generation was created|The request was not run/.test(response.body.detail)) certain.push(prompt);
    });
    database.freeze();
    await Promise.all(creates);
    database.open();
    expect(seen.filter(({ ms }) => ms >= 5_000)).to.deep.equal([]);
    expect(new Set(seen.map(({ status }) => status))).to.deep.equal(new Set([503]));
    // Statements sent to the frozen server may run when it resumes. Those that were not sent never run.
    await eventually('recovered', async () => (await busy.request('GET', '/api/ledger/')).status === 200);
    const { body } = await busy.request('GET', '/api/generations/');
    expect(body.pagination.total_items).to.be.below(5);
    expect(certain).not.to.deep.equal([]);
    expect(body.data.filter(({ prompt }: { prompt: string }) => certain.includes(prompt))).to.deep.equal([]);
    await service.checkIntegrity();
  });

  it('Postgres (freeze): a new key whose transaction has begun gets its response within 5 s', async () => {
    const busy = await service.createCustomer('studio');
    const held = await service.database.connect();
    await held.query('BEGIN');
    await held.query('SELECT FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [busy.email]);
    const headers = { 'idempotency-key': randomUUID() };
    const create = () => busy.request('POST', '/api/keys/create/', { body: { name: 'key' }, headers });
    const created = create();
    await eventually('it waits for the account', async () => (await service.countLockWaits()) === 1);
    const startedAt = performance.now();
    database.freeze();
    expect((await created).status).to.equal(503);
    // The response to its statement, and to the release of its Idempotency-Key; not to a ROLLBACK as well.
    expect(performance.now() - startedAt).to.be.below(5_000);
    await held.query('ROLLBACK');
    held.release();
    database.open();
    await eventually('repeated', async () => (await create()).status === 201);
  });

  const unknown = /outcome of this request is unknown.*same Idempotency-Key.*list of generations/;

  /** Drops the next response that contains a word, and everything after it. */
  const loseAnswer = (word: string) =>
    database.cutReplies((chunk) => {
      if (!chunk.includes(word)) return false;
      database.freeze();
      return true;
    });

  /** Drops the next response that contains a word, and no other. */
  const loseOneAnswer = (word: string) => {
    let isLost = false;
    database.cutReplies((chunk) => {
      if (isLost || !chunk.includes(word)) return false;
      isLost = true;
      return true;
    });
  };

  it('a create whose response is lost reports an unknown outcome, and its Idempotency-Key returns the outcome', async () => {
    const busy = await service.createCustomer('studio');
    const body = { ...IMAGE, prompt: 'a buoy' };
    const headers = { 'idempotency-key': randomUUID() };
    const create = () => busy.request('POST', '/api/generations/create/', { body, headers });
    expect((await busy.request('GET', '/api/generations/')).status).to.equal(200);
    loseAnswer('accepted');
    const lost = await create();
    expect([lost.status, lost.body.error]).to.deep.equal([503, 'internal_error']);
    expect(lost.body.detail).to.match(unknown);
    database.open();
    const repeated = await create();
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true']);
    expect(await busy.balance()).to.equal(3000 - 8);
  });

  it('a tool call whose charge is lost reports an unknown outcome', async () => {
    const busy = await service.createCustomer('studio');
    const assistant = await connectMcpClient(busy, 'sdk 2');
    loseAnswer('accepted');
    const called = await assistant.client.callTool({
      name: 'generate_image',
      arguments: { prompt: 'a pier', resolution: '1K' },
    });
    database.open();
    expect(called.isError).to.equal(true);
    expect(called.content[0].text).to.match(unknown);
    await assistant.close();
    expect(await busy.balance()).to.equal(3000 - 8);
  });

  it('a create whose response is lost is not rejected because of its own charge', async () => {
    service.upstream.outcome = 'wait';
    const busy = await service.createCustomer('studio');
    await service.sql('UPDATE accounts SET parallel_limit = 1 WHERE email = $1', [busy.email]);
    loseOneAnswer('accepted');
    const { status, body } = await busy.createGeneration(IMAGE);
    database.open();
    expect([status, body.error]).to.deep.equal([201, undefined]);
    const { body: list } = await busy.request('GET', '/api/generations/');
    expect(list.data.map(({ uuid }: { uuid: string }) => uuid)).to.deep.equal([body.uuid]);
    expect(await busy.balance()).to.equal(3000 - 8);
    await service.sql('UPDATE accounts SET parallel_limit = 8 WHERE email = $1', [busy.email]);
    service.upstream.outcome = 'succeed';
  });

  it('a rejection after a lost response is reported as an unknown outcome', async () => {
    const visitor = await service.createCustomer(null);
    expect((await visitor.createGeneration(IMAGE)).status).to.equal(402);
    loseOneAnswer('subscription_required');
    const { status, body } = await visitor.createGeneration(IMAGE);
    database.open();
    expect([status, body.error]).to.deep.equal([503, 'internal_error']);
    expect(body.detail).to.match(unknown);
    expect((await visitor.createGeneration(IMAGE)).body.error).to.equal('subscription_required');
  });

  it('Redis (refuse, freeze): reads and creates get a response within 5 s, and the jobs run afterwards', async () => {
    service.upstream.outcome = 'succeed';
    for (const how of ['refuse', 'freeze'] as const) {
      redis[how]();
      const created = await within(scaleTimeout(5_000), image());
      expect(created.status, how).to.equal(201);
      expect((await within(scaleTimeout(5_000), customer.readGeneration(created.body.uuid))).status).to.equal(200);
      expect((await within(scaleTimeout(5_000), service.request('GET', '/api/models/'))).status).to.equal(200);
      redis.open();
      expect((await customer.waitForEnd(created.body.uuid, 40_000)).status).to.equal('succeeded');
    }
  });
}).timeout(120_000);

async function within<Result>(milliseconds: number, request: Promise<Result>): Promise<Result> {
  const startedAt = Date.now();
  const result = await request;
  expect(Date.now() - startedAt).to.be.below(milliseconds);
  return result;
}
