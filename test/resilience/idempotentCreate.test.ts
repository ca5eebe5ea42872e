import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const ORDER = { model: 'imgmodel-2', prompt: 'a lighthouse', params: { resolution: '1K' } };

describe('a create with an Idempotency-Key', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ apis: 3 });
    service.upstream.outcome = 'wait';
  });
  beforeEach(async () => {
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  const create = (key: string, body: object = ORDER, who = customer) =>
    who.request('POST', '/api/generations/create/', { body, headers: { 'idempotency-key': key } });

  it('returns the first response again and charges once', async () => {
    const key = randomUUID();
    const first = await create(key);
    const again = await create(key);
    expect([first.status, again.status]).to.deep.equal([201, 201]);
    expect(again.body).to.deep.equal(first.body);
    expect(first.headers.get('idempotent-replayed')).to.equal(null);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(await customer.ledger()).to.deep.equal([
      ['grant', 3000],
      ['burn', -8],
    ]);
  });

  it('returns the first response again when the generation has ended and when it was deleted', async () => {
    const key = randomUUID();
    const first = await create(key, { ...ORDER, prompt: 'soon done' });
    await eventually('submitted', () => service.upstream.jobsFor('soon done').length === 1);
    service.upstream.end('soon done', 'succeeded');
    expect((await customer.waitForEnd(first.body.uuid)).status).to.equal('succeeded');
    expect((await create(key, { ...ORDER, prompt: 'soon done' })).body).to.deep.equal(first.body);
    await customer.request('DELETE', `/api/generations/${first.body.uuid}/`);
    expect((await create(key, { ...ORDER, prompt: 'soon done' })).body).to.deep.equal(first.body);
  });

  it('treats a request with the same meaning as the same request', async () => {
    const key = randomUUID();
    const first = await create(key);
    const spelledOut = {
      params: { aspect_ratio: '1:1', resolution: '1K' },
      prompt: ' a lighthouse ',
      model: 'imgmodel-2',
    };
    expect((await create(key, spelledOut)).body.uuid).to.equal(first.body.uuid);
  });

  for (const change of [{ prompt: 'a windmill' }, { params: { resolution: '2K' } }, { model: 'vidmodel-video' }]) {
    it(`rejects another request under the same key: another ${Object.keys(change)[0]}`, async () => {
      const key = randomUUID();
      await create(key);
      const params = 'model' in change ? { params: { duration: 5, resolution: '720p' } } : {};
      const other = await create(key, { ...ORDER, ...change, ...params });
      expect(other.status).to.equal(400);
      expect(other.body).to.deep.include({ error: 'validation_error' });
      expect(other.body.detail).to.match(/Idempotency-Key/);
      expect(await customer.balance()).to.equal(2992);
    });
  }

  it('is not shared between accounts', async () => {
    const key = randomUUID();
    const otherCustomer = await service.createCustomer('studio');
    const [mine, theirs] = [await create(key), await create(key, ORDER, otherCustomer)];
    expect(theirs.status).to.equal(201);
    expect(theirs.body.uuid).to.not.equal(mine.body.uuid);
  });

  it('does not store rejections: a failed create can be retried with the same key', async () => {
    const poor = await service.createCustomer(null);
    const key = randomUUID();
    expect((await create(key, ORDER, poor)).status).to.equal(402);
    await poor.requestWithSession('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    expect((await create(key, ORDER, poor)).status).to.equal(201);
  });

  it('is charged once for 60 simultaneous requests to three API processes', async () => {
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        create(keys[index % 3] as string, ORDER, customer.on(service.baseUrls[(index >> 2) % 3] as string)),
      ),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal(Array(60).fill(201));
    expect(new Set(responses.map(({ body }) => body.uuid)).size).to.equal(3);
    const fresh = responses.filter(({ headers }) => headers.get('idempotent-replayed') === null);
    expect(fresh).to.have.length(3);
    expect(await customer.balance()).to.equal(3000 - 3 * 8);
  });

  it('is not rejected because of the slot that the first request with its key has taken', async () => {
    await service.sql('UPDATE accounts SET parallel_limit = 1 WHERE email = $1', [customer.email]);
    const lock = await service.database.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [customer.email]);
    const key = randomUUID();
    const answers = Promise.all(service.baseUrls.map((baseUrl) => create(key, ORDER, customer.on(baseUrl))));
    await eventually(
      'every process waits for the account',
      async () => (await service.countLockWaits()) === service.baseUrls.length,
    );
    await lock.query('COMMIT');
    lock.release();
    expect((await answers).map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    expect(new Set((await answers).map(({ body }) => body.uuid)).size).to.equal(1);
    await service.sql('UPDATE accounts SET parallel_limit = 8 WHERE email = $1', [customer.email]);
  });

  it('prevents a second charge when the first response was lost', async () => {
    const key = randomUUID();
    const { port } = new URL(customer.baseUrl);
    const body = JSON.stringify(ORDER);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /api/generations/create/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${customer.key}\r\n` +
        `Idempotency-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await eventually('charged', async () => (await customer.balance()) === 2992);
    socket.destroy();
    const again = await create(key);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(await customer.balance()).to.equal(2992);
  });

  it('expires after a day', async () => {
    const key = randomUUID();
    const first = await create(key);
    await service.sql(`UPDATE generations SET created_at = created_at - interval '25 hours' WHERE uuid = $1`, [
      first.body.uuid,
    ]);
    const connection = new Redis(service.env['REDIS_URL'] as string, { maxRetriesPerRequest: null });
    const queue = new Queue('maintenance', { connection, prefix: `{${service.env['REDIS_PREFIX']}:maintenance}` });
    await queue.add('rows.prune', {});
    await eventually('pruned', async () => {
      const [row] = await service.sql('SELECT idempotency_key FROM generations WHERE uuid = $1', [first.body.uuid]);
      return row.idempotency_key === null;
    });
    await queue.close();
    connection.disconnect();
    await service.sql(`UPDATE generations SET created_at = created_at + interval '25 hours' WHERE uuid = $1`, [
      first.body.uuid,
    ]);
    const second = await create(key);
    expect(second.status).to.equal(201);
    expect(second.body.uuid).to.not.equal(first.body.uuid);
  });

  for (const [what, key] of [
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['not ASCII', 'schlüssel'],
  ] as const) {
    it(`must not be ${what}`, async () => {
      const { status, body } = await create(key);
      expect(status).to.equal(400);
      expect(body.detail).to.match(/^Idempotency-Key must have 1 to 255/);
    });
  }
});
