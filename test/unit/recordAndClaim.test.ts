import { expect } from 'chai';
import { createDeliveryFixture, type Outcome, QUICK_MS } from '../harness/deliveryFixture.ts';
import { after as at, NOW, type Row } from '../harness/functionDatabase.ts';

describe('the function that records and claims webhook deliveries', () => {
  const {
    database,
    open,
    clear,
    createEndpoint,
    createDelivery,
    createDeliveries,
    OWN_LEASE,
    OTHER_LEASE,
    succeeded,
    failed,
    released,
    run,
    claimed,
    recorded,
    readEndpoint,
    readDelivery,
  } = createDeliveryFixture();
  before(open);
  beforeEach(clear);
  after(() => database.close());

  describe('records', () => {
    it('a success once, with its attempt', async () => {
      const endpoint = await createEndpoint();
      const id = await createDelivery(endpoint, { ...OWN_LEASE, attempts: 2 });
      const untouched = await createDelivery(endpoint, OTHER_LEASE);
      expect(recorded(await run([succeeded(id, endpoint)]))).to.deep.equal([id]);
      expect(
        await readDelivery(
          id,
          'status, attempts, next_attempt_at, leased_until, leased_by, last_attempt_at, last_status, last_error, attempt_log, delivered_at',
        ),
      ).to.deep.equal({
        status: 'succeeded',
        attempts: 3,
        next_attempt_at: null,
        leased_until: null,
        leased_by: null,
        last_attempt_at: NOW,
        last_status: 200,
        last_error: null,
        attempt_log: [{ status: 200, duration_ms: QUICK_MS }],
        delivered_at: NOW,
      });
      expect(await readDelivery(untouched, 'status, attempts')).to.deep.equal({ status: 'pending', attempts: 0 });
      expect(recorded(await run([succeeded(id, endpoint)]))).to.deep.equal([]);
    });

    it('a failure with the time of the next attempt', async () => {
      const endpoint = await createEndpoint();
      const id = await createDelivery(endpoint, OWN_LEASE);
      await run([failed(id, endpoint)]);
      expect(
        await readDelivery(id, 'status, attempts, next_attempt_at, leased_by, last_status, last_error, delivered_at'),
      ).to.deep.equal({
        status: 'pending',
        attempts: 1,
        next_attempt_at: at(60_000),
        leased_by: null,
        last_status: 500,
        last_error: 'down',
        delivered_at: null,
      });
    });

    it('the latest attempts only', async () => {
      const endpoint = await createEndpoint();
      const log = async (before: Row[]) => {
        const id = await createDelivery(endpoint, { ...OWN_LEASE, attempt_log: JSON.stringify(before) });
        await run([succeeded(id, endpoint, 7)]);
        const { attempt_log: after } = await readDelivery(id, 'attempt_log');
        return (after as Row[]).map((attempt) => attempt['n'] ?? 'new');
      };
      expect(await log([{ n: 1 }, { n: 2 }])).to.deep.equal([1, 2, 'new']);
      expect(await log([{ n: 1 }, { n: 2 }, { n: 3 }])).to.deep.equal([2, 3, 'new']);
    });

    it('nothing of a lease that has ended or belongs to another process', async () => {
      const endpoint = await createEndpoint();
      for (const lease of [OTHER_LEASE, { ...OWN_LEASE, leased_until: at(29_501) }]) {
        for (const build of [succeeded, released]) {
          const id = await createDelivery(endpoint, lease);
          expect(recorded(await run([build(id, endpoint)]))).to.deep.equal([]);
          expect(await readDelivery(id, 'attempts, leased_by')).to.deep.equal({
            attempts: 0,
            leased_by: lease.leased_by,
          });
        }
      }
    });

    it('each outcome for its own delivery', async () => {
      const endpoint = await createEndpoint();
      const [one, other, third] = (await createDeliveries(endpoint, 3, OWN_LEASE)) as [number, number, number];
      const rows = await run([succeeded(one, endpoint), failed(other, endpoint), released(third, endpoint)]);
      expect(recorded(rows)).to.have.members([one, other, third]);
      expect(await readDelivery(one, 'status, attempts')).to.deep.equal({ status: 'succeeded', attempts: 1 });
      expect(await readDelivery(other, 'status, attempts')).to.deep.equal({ status: 'pending', attempts: 1 });
      expect(await readDelivery(third, 'status, attempts')).to.deep.equal({ status: 'pending', attempts: 0 });
    });

    it('a delivery that was not attempted as one that waits as before', async () => {
      const endpoint = await createEndpoint({ failing_since: at(-5), next_delivery_at: null });
      const id = await createDelivery(endpoint, OWN_LEASE);
      const rows = await run([released(id, endpoint)]);
      expect(recorded(rows)).to.deep.equal([id]);
      expect(claimed(rows)).to.deep.equal([id]);
      expect(await readDelivery(id, 'attempts, next_attempt_at')).to.deep.equal({
        attempts: 0,
        next_attempt_at: at(-1_000),
      });
      expect((await readEndpoint(endpoint))['failing_since']).to.deep.equal(at(-5));
      const healthy = await createEndpoint({ next_delivery_at: null });
      await run([released(await createDelivery(healthy, OWN_LEASE), healthy)]);
      expect((await readEndpoint(healthy))['failing_since']).to.equal(null);
    });
  });

  const create = async (row: Row) => createDelivery(await createEndpoint(row));

  const fail = async (row: Row, withSuccess = false) => {
    const endpoint = await createEndpoint(row);
    await createDelivery(endpoint, OTHER_LEASE);
    const [one, other] = (await createDeliveries(endpoint, 2, OWN_LEASE)) as [number, number];
    await run([failed(one, endpoint), ...(withSuccess ? [succeeded(other, endpoint)] : [])]);
    return readEndpoint(endpoint, 'failing_since, concurrency');
  };

  describe('an endpoint', () => {
    it('doubles its concurrency with a success, up to the limit, and no longer fails', async () => {
      for (const [before, after] of [
        [1, 2],
        [3, 6],
        [4, 8],
        [5, 8],
      ] as const) {
        const endpoint = await createEndpoint({ concurrency: before, failing_since: at(-5) });
        const untouched = await createEndpoint({ concurrency: 3, failing_since: at(-7), next_delivery_at: null });
        // Another lease keeps the concurrency.
        await createDelivery(endpoint, OTHER_LEASE);
        await run([succeeded(await createDelivery(endpoint, OWN_LEASE), endpoint)]);
        expect(await readEndpoint(endpoint)).to.deep.include({ concurrency: after, failing_since: null });
        expect(await readEndpoint(untouched)).to.deep.equal({
          concurrency: 3,
          failing_since: at(-7),
          next_delivery_at: null,
        });
      }
    });

    it('fails since its first failure without a success beside it', async () => {
      expect(await fail({})).to.deep.equal({ failing_since: NOW, concurrency: 2 });
      expect(await fail({ failing_since: at(-5) })).to.deep.equal({ failing_since: at(-5), concurrency: 2 });
      expect(await fail({ url: null })).to.deep.equal({ failing_since: null, concurrency: 2 });
      expect(await fail({}, true)).to.deep.equal({ failing_since: null, concurrency: 4 });
    });

    it('gets the result of its own attempts', async () => {
      const endpoints = [await createEndpoint(), await createEndpoint(), await createEndpoint()];
      const outcomes: Outcome[] = [];
      for (const [index, endpoint] of endpoints.entries()) {
        await createDelivery(endpoint, OTHER_LEASE);
        const id = await createDelivery(endpoint, OWN_LEASE);
        outcomes.push(index === 1 ? failed(id, endpoint) : succeeded(id, endpoint));
      }
      await run(outcomes);
      const results = await Promise.all(
        endpoints.map((endpoint) => readEndpoint(endpoint, 'failing_since, concurrency')),
      );
      expect(results).to.deep.equal([
        { failing_since: null, concurrency: 4 },
        { failing_since: NOW, concurrency: 2 },
        { failing_since: null, concurrency: 4 },
      ]);
    });

    it('that is disabled gets no attempt after an outcome', async () => {
      const endpoint = await createEndpoint({ disabled_at: NOW, disabled_reason: 'owner', next_delivery_at: null });
      const [id] = (await createDeliveries(endpoint, 2, OWN_LEASE)) as [number, number];
      await createDelivery(endpoint);
      const rows = await run([succeeded(id, endpoint)]);
      expect([recorded(rows), claimed(rows)]).to.deep.equal([[id], []]);
      expect((await readEndpoint(endpoint))['next_delivery_at']).to.equal(null);
    });

    it('that is disabled gets none although it is due', async () => {
      const endpoint = await createEndpoint({ disabled_at: NOW, disabled_reason: 'owner' });
      await createDelivery(endpoint);
      expect(claimed(await run())).to.deep.equal([]);
      expect((await readEndpoint(endpoint))['next_delivery_at']).to.equal(null);
    });

    it('is due from its time on, the earliest first, and failing ones by a limit of their own', async () => {
      const second = await create({});
      const first = await create({ next_delivery_at: at(-1) });
      const later = await create({ next_delivery_at: at(1) });
      const failingToo = await create({ failing_since: NOW });
      const failing = await create({ failing_since: NOW, next_delivery_at: at(-1) });
      expect(claimed(await run([], { healthy: 1, failing: 1 }))).to.have.members([first, failing]);
      expect(claimed(await run([], { healthy: 0, failing: 0 }))).to.deep.equal([]);
      expect(claimed(await run([], { failing: 0 }))).to.deep.equal([second]);
      expect(claimed(await run())).to.deep.equal([failingToo]);
      expect(claimed(await run())).to.deep.equal([]);
      expect(await readDelivery(later, 'leased_by')).to.deep.equal({ leased_by: null });
    });

    it('that another transaction keeps locked is left out', async () => {
      const [busy, failing] = [await createEndpoint(), await createEndpoint({ failing_since: NOW })];
      const id = await createDelivery(await createEndpoint());
      for (const endpoint of [busy, failing]) await createDelivery(endpoint);
      const lock = 'SELECT FROM webhook_endpoints WHERE id = ANY ($1) FOR NO KEY UPDATE';
      const rows = await database.whileLocked(lock, [[busy, failing]], () => run());
      expect(claimed(rows)).to.deep.equal([id]);
    });

    it('is locked until the end of the transaction, after an outcome and for a claim', async () => {
      const lock = 'SELECT FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED';
      const [reported, idle] = [
        await createEndpoint({ next_delivery_at: null }),
        await createEndpoint({ next_delivery_at: null }),
      ];
      const id = await createDelivery(reported, OTHER_LEASE);
      const call = () => run([succeeded(id, reported)]);
      expect(await database.isLockedBy(call, lock, [reported])).to.equal(true);
      expect(await database.isLockedBy(call, lock, [idle])).to.equal(false);
    });

    it('is locked in the order of the ids', async () => {
      const high = await createEndpoint({ id: 2_000_002, next_delivery_at: null });
      const low = await createEndpoint({ id: 2_000_001, next_delivery_at: null });
      const outcomes = [
        succeeded(await createDelivery(high, OWN_LEASE), high),
        succeeded(await createDelivery(low, OWN_LEASE), low),
      ];
      const lock = 'SELECT FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED';
      expect(await database.isLockedFirst(low, high, lock, () => run(outcomes))).to.equal(true);
    });
  });
});
