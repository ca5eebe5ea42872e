import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { readPaces } from '../../shared/domain/generations/execution/pollPace.ts';
import { getUpstreamRoutes } from '../../shared/gateways/upstreams/index.ts';
import { type TestCustomer, IMAGE, VIDEO } from '../harness/apiClient.ts';
import { enableAutoTopups } from '../harness/autoTopups.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { completeAllGenerations, seedImages, setAllModelsOnline, setModelHealth } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const LONG = { model: 'vidmodel-video', params: { duration: 10, resolution: '720p' } } as const;
const ESTIMATES = 1_000;

const estimate = (customer: TestCustomer, body: object = {}) =>
  customer.request('POST', '/api/generations/estimate/', { body: { ...IMAGE, prompt: 'a lighthouse', ...body } });
const create = (customer: TestCustomer, body: object = {}, headers: Record<string, string> = {}) =>
  customer.request('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a', ...body }, headers });

/** Every combination of values, with and without those that have a default. */
function listBodies(): { model: string; params: object }[] {
  const audio = [{}, { audio: false }, { audio: true }];
  const videos = [5, 10].flatMap((duration) =>
    ['720p', '1080p'].flatMap((resolution) =>
      audio.flatMap((sound) =>
        [{}, { aspect_ratio: '16:9' }, { aspect_ratio: '9:16' }].map((shape) => ({
          model: 'vidmodel-video',
          params: { duration, resolution, ...sound, ...shape },
        })),
      ),
    ),
  );
  const images = ['1K', '2K', '4K'].flatMap((resolution) =>
    [{}, { aspect_ratio: '16:9' }, { aspect_ratio: '1:1' }, { aspect_ratio: '9:16' }].map((shape) => ({
      model: 'imgmodel-2',
      params: { resolution, ...shape },
    })),
  );
  return [...videos, ...images];
}

/** Fails unless the estimate predicts the response to a create. */
async function expectPrediction(customer: TestCustomer, error: string, body: object = {}): Promise<void> {
  const estimated = await estimate(customer, body);
  const refused = await create(customer, body);
  expect(estimated.status).to.equal(200);
  expect(estimated.body.refusal).to.deep.equal(refused.body);
  expect(refused.body.error).to.equal(error);
}

describe('estimates', () => {
  const service = useTestService({ workers: 0, env: { RATE_LIMITS: 'off' } });
  beforeEach(() => setAllModelsOnline(service));

  it('returns params with defaults, price, and balance before and after', async () => {
    const customer = await service.createCustomer('pro');
    const { status, body } = await estimate(customer, VIDEO);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      model: 'vidmodel-video',
      params: { duration: 5, resolution: '720p', audio: false, aspect_ratio: '16:9' },
      credits: 35,
      balance: 1100,
      balance_after: 1065,
      affordable: true,
      usual_seconds: null,
      refusal: null,
    });
    const bySession = await customer.requestWithSession('POST', '/api/generations/estimate/', {
      body: { ...VIDEO, prompt: 'a lighthouse' },
    });
    expect([bySession.status, bySession.body]).to.deep.equal([200, body]);
  });

  it('returns how long recent runs of the model took, once there are enough', async () => {
    const customer = await service.createCustomer('pro');
    await seedImages(service, customer, 20);
    await completeAllGenerations(service, customer);
    const [route] = getUpstreamRoutes()[IMAGE.model] ?? [];
    await service.sql(
      `UPDATE generations SET upstream = $2, upstream_model = $3, submitted_at = created_at,
              polled_at = created_at + make_interval(secs => 6.4)
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email, route?.upstream.name, route?.modelId],
    );
    await readPaces();
    expect((await estimate(customer)).body.usual_seconds).to.equal(7);
    expect((await estimate(customer, VIDEO)).body.usual_seconds).to.equal(null);
  });

  it('equals what the following create charges, for all params of both models', async () => {
    let customer = await service.createCustomer('studio');
    for (const body of listBodies()) {
      if ((await customer.balance()) < 70) customer = await service.createCustomer('studio');
      const estimated = (await estimate(customer, body)).body;
      const created = (await create(customer, body)).body;
      expect([estimated.model, estimated.params, estimated.credits], JSON.stringify(body)).to.deep.equal([
        created.model,
        created.params,
        created.credits_charged,
      ]);
      const { duration } = body.params as { duration?: number };
      expect(created.credits_charged).to.equal(duration === undefined ? 8 : 7 * duration);
      expect(created.params).to.include(body.params);
      expect(estimated.refusal).to.equal(null);
      expect(estimated.balance_after).to.equal(estimated.balance - created.credits_charged);
      expect(await customer.balance()).to.equal(estimated.balance_after);
      await completeAllGenerations(service, customer);
    }
  });

  it('rejects what a create rejects with 400, with the same detail', async () => {
    const customer = await service.createCustomer('pro');
    for (const body of [
      { prompt: '' },
      { model: 'another' },
      { params: { resolution: '3K' } },
      { params: {} },
      { params: { resolution: '1K', more: 1 } },
      { more: 1 },
      { webhook_url: 'not an address' },
      { max_credits: 0 },
      { max_credits: 1.5 },
      { max_credits: '8' },
      { max_credits: 7 },
    ]) {
      const refused = await create(customer, body);
      const estimated = await estimate(customer, { prompt: 'a', ...body });
      expectError(refused, 'validation_error', Object.keys(body)[0]);
      expect([estimated.status, estimated.body], JSON.stringify(body)).to.deep.equal([400, refused.body]);
    }
    expect(await customer.balance()).to.equal(1100);
  });

  describe('the predicted error', () => {
    it('is the error of the create in every state, in the same order of precedence', async () => {
      const customer = await service.createCustomer(null);
      await setModelHealth(service, 'imgmodel-2', 'offline');
      expectError(await create(customer, { params: { resolution: '3K' } }), 'validation_error', 'params.resolution');
      await expectPrediction(customer, 'subscription_required');
      await customer.requestWithSession('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
      await expectPrediction(customer, 'model_unavailable');
      await setAllModelsOnline(service);
      await customer.createImage();
      await customer.createImage();
      await seedImages(service, customer, 184);
      await setModelHealth(service, 'imgmodel-2', 'offline');
      await expectPrediction(customer, 'model_unavailable');
      await setAllModelsOnline(service);
      await expectPrediction(customer, 'parallel_limit_reached');
      await completeAllGenerations(service, customer);
      await expectPrediction(customer, 'insufficient_credits');
      expect((await estimate(customer)).body).to.deep.include({ balance: 0, balance_after: -8, affordable: false });
    });

    it('leaves price and balance in the estimate, and says whether the balance covers the price', async () => {
      const visitor = await service.createCustomer(null);
      const { body } = await estimate(visitor, VIDEO);
      expect(body).to.deep.include({ credits: 35, balance: 0, balance_after: -35, affordable: false });
      const customer = await service.createCustomer('pro');
      await setModelHealth(service, 'imgmodel-2', 'offline');
      const offline = (await estimate(customer)).body;
      expect([offline.affordable, offline.refusal.error]).to.deep.equal([true, 'model_unavailable']);
      expect(offline.refusal.detail).to.include('imgmodel-2');
    });

    it('says that a create would try an automatic top-up, which the estimate does not', async () => {
      const customer = await service.createCustomer('lite');
      await enableAutoTopups(customer, { auto_topup_threshold_credits: 0 });
      await seedImages(service, customer, 200);
      const { body } = await estimate(customer);
      expect(body.refusal.error).to.equal('insufficient_credits');
      expect(body.refusal.detail).to.match(/ Automatic top-ups are on: a create would try one first\.$/);
      expect(
        await service.sql('SELECT 1 FROM topups WHERE account_id = (SELECT id FROM accounts WHERE email = $1)', [
          customer.email,
        ]),
      ).to.deep.equal([]);
      expect((await create(customer)).status).to.equal(201);
      // Within an hour of the top-up there is no other one.
      await seedImages(service, customer, await customer.balance());
      await expectPrediction(customer, 'insufficient_credits');
      expect((await estimate(customer)).body.refusal.detail).not.to.match(/automatic/i);
    });
  });

  describe('credentials', () => {
    it('of a suspended account are rejected with 403', async () => {
      const customer = await service.createCustomer('pro');
      await service.sql('UPDATE accounts SET suspended_at = now() WHERE email = $1', [customer.email]);
      try {
        expectError(await estimate(customer), 'account_suspended');
      } finally {
        await service.sql('UPDATE accounts SET suspended_at = NULL WHERE email = $1', [customer.email]);
      }
    });

    it('are verified by every estimate', async () => {
      const customer = await service.createCustomer('pro');
      expect((await estimate(customer)).status).to.equal(200);
      const [{ uuid }] = (await customer.request('GET', '/api/keys/')).body.data;
      await customer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      expectError(await estimate(customer), 'invalid_api_key');
      expectError(await estimate(customer, { prompt: '' }), 'invalid_api_key');
    });
  });

  it('does not wait for a lock on the account', async () => {
    const customer = await service.createCustomer('pro');
    const connection = await service.database.connect();
    try {
      await connection.query('BEGIN');
      await connection.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [customer.email]);
      expect((await estimate(customer)).body.balance).to.equal(1100);
    } finally {
      await connection.query('ROLLBACK');
      connection.release();
    }
  });

  it(`${ESTIMATES} estimates write no row`, async () => {
    const customer = await service.createCustomer('pro');
    /** Sends estimates in parallel, so that every connection has a statement after which it reports its statistics. */
    const estimateOnEachConnection = () => Promise.all(Array.from({ length: 24 }, () => estimate(customer)));
    const countWrites = async (): Promise<number> => {
      await delay(1_100);
      await estimateOnEachConnection();
      await Promise.all(Array.from({ length: 8 }, () => service.sql('SELECT 1')));
      const [{ writes }] = await service.sql(
        'SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS writes FROM pg_stat_user_tables',
      );
      return writes;
    };
    await estimateOnEachConnection();
    let before = await countWrites();
    for (let next = await countWrites(); next !== before; next = await countWrites()) before = next;
    for (let sent = 0; sent < ESTIMATES; sent += 50) {
      const responses = await Promise.all(Array.from({ length: 50 }, () => estimate(customer, LONG)));
      expect(responses.every(({ status, body }) => status === 200 && body.credits === 70)).to.equal(true);
    }
    expect(await countWrites()).to.equal(before);
    // A create is visible in this figure.
    await customer.createImage();
    expect(await countWrites()).to.be.above(before);
    expect(await customer.balance()).to.equal(1092);
  });

  describe('max_credits', () => {
    it('accepts a create whose price it covers', async () => {
      const customer = await service.createCustomer('pro');
      expect((await create(customer, { max_credits: 8 })).status).to.equal(201);
      const { status, body } = await create(customer, { ...LONG, max_credits: 1_000 });
      expect([status, body.credits_charged]).to.deep.equal([201, 70]);
      expect(body).not.to.have.property('max_credits');
    });

    it('rejects a higher price with a 400 that names it, and charges nothing', async () => {
      const customer = await service.createCustomer('pro');
      const refused = await create(customer, { ...LONG, max_credits: 69 });
      expectError(refused, 'validation_error', 'max_credits is 69, but this generation costs 70 credits.');
      expect(refused.body.detail).to.match(/This request was not charged\.$/);
      expect(await customer.balance()).to.equal(1100);
    });

    it('is not compared when an Idempotency-Key is repeated, and a repeat gets the first response whatever it is', async () => {
      const customer = await service.createCustomer('pro');
      const headers = { 'idempotency-key': randomUUID() };
      const first = await create(customer, {}, headers);
      for (const more of [{}, { max_credits: 8 }, { max_credits: 9 }, { max_credits: 1 }]) {
        const again = await create(customer, more, headers);
        expect([again.status, again.body.uuid], JSON.stringify(more)).to.deep.equal([201, first.body.uuid]);
        expect(again.headers.get('idempotent-replayed')).to.equal('true');
      }
      const other = await create(customer, { prompt: 'another', max_credits: 1 }, headers);
      expectError(other, 'validation_error', 'Idempotency-Key');
      expect(await customer.balance()).to.equal(1092);
    });

    it('that is too low does not use up an Idempotency-Key', async () => {
      const customer = await service.createCustomer('pro');
      const headers = { 'idempotency-key': randomUUID() };
      expectError(await create(customer, { max_credits: 7 }, headers), 'validation_error', 'max_credits');
      expect((await create(customer, { max_credits: 8 }, headers)).status).to.equal(201);
    });
  });
});
