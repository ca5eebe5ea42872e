import { expect } from 'chai';
import { failGeneration } from '../../shared/domain/generations/execution/completeOrFail.ts';
import type pg from 'pg';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { getAccountId } from '../harness/outbox.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/** Status, wait and first sentence of the response to a request that waits for a busy account. */
const BUSY = [503, '1', 'The service is busy.'];

const summarize = ({ status, headers, body }: Awaited<ReturnType<TestCustomer['request']>>) => [
  status,
  headers.get('retry-after'),
  body.detail.split('.')[0] + '.',
];

describe('while an account is locked beyond the database timeout', () => {
  let service: TestService;
  let slow: TestCustomer;
  let other: TestCustomer;
  let lock: pg.PoolClient;
  before(async () => {
    service = await startTestService({
      env: { DATABASE_TIMEOUT_MS: String(scaleTimeout(1_000)), DATABASE_POOL_MAX: '2' },
    });
    service.upstream.outcome = 'wait';
    [slow, other] = await Promise.all([service.createCustomer('studio'), service.createCustomer('studio')]);
  });
  after(() => service.stop());
  beforeEach(async () => {
    lock = await service.database.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [slow.email]);
  });
  afterEach(() => lock.release());

  it('a create returns 503, says that the service is busy, and charges nothing', async () => {
    const created = await slow.createGeneration(IMAGE);
    expect(summarize(created)).to.deep.equal(BUSY);
    expect(created.body.detail).to.include('No generation was created and no credits were charged.');
    await lock.query('COMMIT');
    expect(await slow.balance()).to.equal(3000);
  });

  it('generations of other accounts end meanwhile, and its own afterwards', async () => {
    await lock.query('ROLLBACK');
    const ends = await Promise.all(
      [slow, other].map(async (customer) => ({
        uuid: (await customer.createImage()).uuid,
        account_id: await getAccountId(service, customer),
        message: 'The model failed.',
      })),
    );
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [slow.email]);
    const startedAt = performance.now();
    const [slowEnd, otherEnd] = ends.map(failGeneration);
    expect(await otherEnd).to.equal(true);
    expect(performance.now() - startedAt).to.be.below(scaleTimeout(1_000));
    await lock.query('ROLLBACK');
    expect(await slowEnd).to.equal(true);
    for (const customer of [slow, other]) expect(await customer.balance()).to.equal(3000);
    await lock.query('BEGIN');
  });

  it('an abandoned transaction is not reused by later requests', async () => {
    const body = { name: 'key' };
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => slow.request('POST', '/api/keys/create/', { body })),
    );
    for (const { status } of responses) expect(status).to.equal(503);
    // Others may have waited for one of the two connections.
    expect(responses.map((response) => summarize(response))).to.deep.include(BUSY);
    expect(service.apis.map((api) => api.logs()).join('')).to.include('statement timed out');
    await lock.query('COMMIT');
    const [{ answered_at: answeredAt }] = await service.sql('SELECT clock_timestamp() AS answered_at');
    for (let count = 0; count < 6; count += 1) {
      const created = await other.createGeneration(IMAGE);
      expect(created.status).to.equal(201);
      const rows = await service.sql('SELECT 1 FROM generations WHERE uuid = $1', [created.body.uuid]);
      expect(rows).to.have.length(1);
    }
    // Transactions that began later belong to the worker, which submits the generations meanwhile.
    const [open] = await service.sql(
      `SELECT count(*) AS count FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in %' AND xact_start < $1`,
      [answeredAt],
    );
    expect(Number(open.count)).to.equal(0);
  });
});

describe('while changes of one account wait for its lock', () => {
  it('they occupy two connections of a process, fail as before, and other accounts are served', async () => {
    const timeoutMs = scaleTimeout(1_000);
    const service = await startTestService({ workers: 0, env: { DATABASE_TIMEOUT_MS: String(timeoutMs) } });
    try {
      const [slow, other] = await Promise.all([service.createCustomer('pro'), service.createCustomer('pro')]);
      const { uuid } = (await slow.request('POST', '/api/keys/create/', { body: { name: 'a' } })).body;
      const change = () => slow.request('PATCH', `/api/keys/${uuid}/`, { body: { name: 'b' } });
      await whileAccountIsLocked(service, await getAccountId(service, slow), async () => {
        const waiting = Array.from({ length: 20 }, change);
        await waitForLockWaits(service, 2);
        const created = await other.request('POST', '/api/keys/create/', { body: { name: 'c' } });
        expect(created.status).to.equal(201);
        expect(await service.countLockWaits()).to.be.at.most(2);
        const answers = await Promise.all(waiting);
        expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(503));
      });
      const later = await change();
      expect([later.status, later.body.name]).to.deep.equal([200, 'b']);
    } finally {
      await service.stop();
    }
  });
});

describe('while two accounts are locked beyond the database timeout', () => {
  it('creates of other accounts are accepted meanwhile, once, and those of the two have charged nothing', async () => {
    const timeoutMs = scaleTimeout(1_000);
    const service = await startTestService({ env: { DATABASE_TIMEOUT_MS: String(timeoutMs) } });
    service.upstream.outcome = 'wait';
    const holder = await service.database.connect();
    try {
      const held = [await service.createCustomer('studio'), await service.createCustomer('studio')];
      const others = await Promise.all(Array.from({ length: 3 }, () => service.createCustomer('studio')));
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM accounts WHERE email = ANY ($1) FOR UPDATE', [held.map(({ email }) => email)]);
      const waiting = held.flatMap((customer) => [customer.createGeneration(IMAGE), customer.createGeneration(IMAGE)]);
      await waitForLockWaits(service, 2);
      const sentAt = performance.now();
      const created = await Promise.all(others.map((customer) => customer.createGeneration(IMAGE)));
      expect(created.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
      expect(performance.now() - sentAt).to.be.below(timeoutMs);
      for (const { status, body } of await Promise.all(waiting)) {
        expect(status).to.equal(503);
        expect(body.detail).to.include('No generation was created and no credits were charged.');
      }
      await holder.query('COMMIT');
      for (const customer of held) expect(await customer.balance()).to.equal(3000);
      for (const customer of others) expect(await customer.balance()).to.equal(3000 - 8);
    } finally {
      holder.release(true);
      await service.stop();
    }
  });
});

describe('lists while items are deleted', () => {
  it('return complete pages at every moment', async () => {
    const service = await startTestService();
    try {
      const customer = await service.createCustomer('studio');
      const uuids: string[] = [];
      while (uuids.length < 48) {
        const batch = await Promise.all(Array.from({ length: 8 }, () => customer.createImage()));
        uuids.push(...batch.map(({ uuid }) => uuid));
        await Promise.all(batch.map(({ uuid }) => customer.waitForEnd(uuid)));
      }
      const left = new Set(uuids);
      const readers = Array.from({ length: 4 }, async () => {
        while (left.size > 0) expect((await customer.request('GET', '/api/generations/')).status).to.equal(200);
      });
      for (const uuid of uuids) {
        await customer.request('DELETE', `/api/generations/${uuid}/`);
        left.delete(uuid);
      }
      await Promise.all(readers);
    } finally {
      await service.stop();
    }
  });
});
