import { expect } from 'chai';
import { NOTIFICATION_INVARIANTS } from '../../shared/domain/webhooks/invariants.ts';
import {
  createDeliveryFixture,
  PROCESS,
  LEASED_UNTIL,
  SLOW_UNTIL,
  QUICK_MS,
  type Outcome,
} from '../harness/deliveryFixture.ts';
import { after as at, NOW, type Row } from '../harness/functionDatabase.ts';

const PENDING_ARE_DUE = NOTIFICATION_INVARIANTS.find(({ name }) => name === 'pending-deliveries-are-due')?.query ?? '';

describe('the function that claims webhook deliveries', () => {
  const {
    database,
    owner,
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
    readEndpoint,
    readDelivery,
  } = createDeliveryFixture();
  before(open);
  beforeEach(clear);
  after(() => database.close());

  const claimCount = async (row: Row, deliveries: [count: number, row: Row][], outcomes: Outcome[] = []) => {
    const endpoint = await createEndpoint(row);
    for (const [count, delivery] of deliveries) await createDeliveries(endpoint, count, delivery);

    const rows = await run(outcomes);
    expect(
      rows.filter((found) => found['is_recorded'] === false).every((found) => found['endpoint_id'] === endpoint),
    ).to.equal(true);
    return [claimed(rows).length, rows.find((found) => found['is_recorded'] === false)?.['allowed']];
  };

  const both = (ids: number[], endpoint: number) => ids.map((id) => succeeded(id, endpoint));
  const beside = (build: (id: number, endpoint: number) => Outcome) => (ids: number[], endpoint: number) => [
    succeeded(ids[0] as number, endpoint),
    build(ids[1] as number, endpoint),
  ];
  const claimAfter = async (
    outcomes: (ids: number[], endpoint: number) => Outcome[],
    { row = {}, leased = [] as [number, Row][] } = {},
  ) => {
    const endpoint = await createEndpoint(row);
    for (const [count, delivery] of leased) await createDeliveries(endpoint, count, delivery);
    const ids = await createDeliveries(endpoint, 2, OWN_LEASE);
    await createDeliveries(endpoint, 40);
    return claimed(await run(outcomes(ids, endpoint))).length;
  };

  describe('claims', () => {
    it('deliveries with what their attempt needs', async () => {
      const keys = { previous_secret: 'q', previous_private_key: 'r', previous_until: at(5) };
      const endpoint = await createEndpoint(keys);
      const id = await createDelivery(endpoint, { attempts: 3 });
      const [row] = await run();
      expect(row).to.deep.include({
        is_recorded: false,
        id,
        endpoint_id: endpoint,
        account_id: owner.id,
        endpoint_url: 'https://example.com/',
        secret: 's',
        private_key: 'p',
        public_key: 'k',
        ...keys,
        failing_since: null,
        url: null,
        attempts: 3,
        body: '{}',
        recorded_at: at(-9_000),
        allowed: 2,
      });
      expect(await readDelivery(id, 'leased_by, leased_until')).to.deep.equal({
        leased_by: PROCESS,
        leased_until: LEASED_UNTIL,
      });
    });

    it('says of an endpoint that was due that it has none', async () => {
      const endpoint = await createEndpoint();
      const rows = await run();
      expect(rows.map((row) => [row['is_recorded'], row['id'], row['endpoint_id']])).to.deep.equal([
        [false, null, endpoint],
      ]);
    });

    it('deliveries that are due and not leased, those of ended processes first, by their times', async () => {
      const endpoint = await createEndpoint({ concurrency: 8 });
      const late = await createDelivery(endpoint, { next_attempt_at: NOW });
      const [early, equal] = await createDeliveries(endpoint, 2, { next_attempt_at: at(-7) });
      const ended = await createDelivery(endpoint, { ...OTHER_LEASE, leased_until: NOW, next_attempt_at: at(-1) });
      await createDelivery(endpoint, { next_attempt_at: at(1) });
      await createDelivery(endpoint, OTHER_LEASE);
      await createDelivery(endpoint, { status: 'failed', next_attempt_at: null });
      expect(claimed(await run())).to.deep.equal([early, equal, ended, late]);
    });

    it('first those of ended processes, then the oldest, if not all may be leased', async () => {
      const endpoint = await createEndpoint({ concurrency: 3 });
      const [, old] = [
        await createDelivery(endpoint, { next_attempt_at: at(-1) }),
        await createDelivery(endpoint, { next_attempt_at: at(-9) }),
      ];
      const ended = await createDelivery(endpoint, { ...OTHER_LEASE, leased_until: at(-1), next_attempt_at: at(-1) });
      const older = await createDelivery(endpoint, { ...OTHER_LEASE, leased_until: at(-2), next_attempt_at: at(-1) });
      expect(claimed(await run())).to.have.members([old, ended, older]);
    });

    it('the one whose lease ended first, if one may be leased', async () => {
      const endpoint = await createEndpoint({ concurrency: 1 });
      await createDelivery(endpoint, { ...OTHER_LEASE, leased_until: at(-1) });
      const older = await createDelivery(endpoint, { ...OTHER_LEASE, leased_until: at(-2) });
      expect(claimed(await run())).to.deep.equal([older]);
    });

    it('none of an endpoint that is not due', async () => {
      const other = await createEndpoint({ next_delivery_at: at(1) });
      await createDelivery(other, { ...OTHER_LEASE, leased_until: at(-1) });
      await createDelivery(other);
      await createEndpoint();
      expect(claimed(await run())).to.deep.equal([]);
    });

    for (const [title, row, deliveries, expected] of [
      ['as many as may be in flight', {}, [[5, {}]], [2, 2]],
      [
        'as many as may be in flight beside those of others',
        {},
        [
          [1, OTHER_LEASE],
          [5, {}],
        ],
        [1, 2],
      ],
      [
        'none beside as many',
        {},
        [
          [2, OTHER_LEASE],
          [5, {}],
        ],
        [0, 2],
      ],
      [
        'none beside more',
        {},
        [
          [3, OTHER_LEASE],
          [5, {}],
        ],
        [0, 2],
      ],
      ['one of a failing endpoint', { failing_since: NOW, concurrency: 5 }, [[5, {}]], [1, 1]],
      [
        'none of a slow endpoint',
        {},
        [
          [1, { ...OTHER_LEASE, leased_until: SLOW_UNTIL }],
          [5, {}],
        ],
        [0, 1],
      ],
      [
        'those of an endpoint that is not slow yet',
        {},
        [
          [1, { ...OTHER_LEASE, leased_until: at(29_001) }],
          [5, {}],
        ],
        [1, 2],
      ],
      [
        'none of an endpoint with one slow attempt',
        { concurrency: 4 },
        [
          [1, { ...OTHER_LEASE, leased_until: SLOW_UNTIL }],
          [1, OTHER_LEASE],
          [5, {}],
        ],
        [0, 1],
      ],
      ['half of the limit of a default endpoint', { url: null, concurrency: 1 }, [[9, {}]], [4, 4]],
      ['more of a default endpoint that allows it', { url: null, concurrency: 5 }, [[9, {}]], [5, 5]],
      [
        'half of the limit of a slow default endpoint',
        { url: null, concurrency: 5 },
        [
          [1, { ...OTHER_LEASE, leased_until: SLOW_UNTIL }],
          [9, {}],
        ],
        [3, 4],
      ],
    ] as [string, Row, [number, Row][], number[]][]) {
      it(title, async () => {
        expect(await claimCount(row, deliveries)).to.deep.equal(expected);
      });
    }

    for (const row of [{}, { url: null }]) {
      it(`at most as many as the caller allows, who does not lower the limit: ${JSON.stringify(row)}`, async () => {
        const endpoint = await createEndpoint({ ...row, concurrency: 8 });
        const id = await createDelivery(endpoint, OWN_LEASE);
        await createDeliveries(endpoint, 9);
        expect(claimed(await run([succeeded(id, endpoint)], { concurrency: 1 }))).to.have.length(1);
        expect(await readEndpoint(endpoint)).to.include({ concurrency: 8 });
      });
    }

    describe('in advance', () => {
      it('a multiple after quick successes of all own attempts', async () => {
        expect(await claimAfter(both)).to.equal(16);
        expect(await claimAfter(([id], endpoint) => [succeeded(id as number, endpoint)])).to.equal(15);
        expect(await claimAfter(both, { row: { concurrency: 1 } })).to.equal(8);
        expect(await claimAfter(both, { row: { concurrency: 8 } })).to.equal(32);
      });

      it('none beside the lease of another process', async () => {
        expect(await claimAfter(both, { leased: [[1, OTHER_LEASE]] })).to.equal(3);
        expect(
          await claimAfter(both, {
            leased: [
              [1, OTHER_LEASE],
              [1, OWN_LEASE],
            ],
          }),
        ).to.equal(2);
      });

      it('none after an attempt that was slow or failed, or without any', async () => {
        expect(await claimAfter(beside((id, endpoint) => succeeded(id, endpoint, QUICK_MS + 1)))).to.equal(4);
        expect(await claimAfter(beside(failed))).to.equal(4);
        expect(await claimAfter(beside(released))).to.equal(16);
        expect(await claimAfter((ids, endpoint) => ids.map((id) => released(id, endpoint)))).to.equal(2);
      });

      it('none while one attempt is allowed at a time', async () => {
        const slow = { ...OWN_LEASE, leased_until: SLOW_UNTIL };
        expect(await claimAfter(both, { leased: [[1, slow]] })).to.equal(0);
      });

      it('none of another endpoint', async () => {
        const other = await createEndpoint();
        await createDeliveries(other, 9);
        const endpoint = await createEndpoint();
        const rows = await run([succeeded(await createDelivery(endpoint, OWN_LEASE), endpoint)]);
        expect(rows.filter((row) => row['endpoint_id'] === other)).to.have.length(2);
      });
    });
  });

  const runAndReadNext = async (deliveries: [number, Row][], row: Row = {}) => {
    const endpoint = await createEndpoint(row);
    for (const [count, delivery] of deliveries) await createDeliveries(endpoint, count, delivery);

    await run();
    const { next_delivery_at: next, concurrency } = await readEndpoint(endpoint);
    return [next, concurrency];
  };

  describe('an endpoint is due next', () => {
    it('never without deliveries, and then starts slowly again', async () => {
      expect(await runAndReadNext([])).to.deep.equal([null, 1]);
      expect(await runAndReadNext([[1, { status: 'failed', next_attempt_at: null }]])).to.deep.equal([null, 1]);
    });

    it('when a delivery that waits is due', async () => {
      expect(
        await runAndReadNext([
          [1, { next_attempt_at: at(5) }],
          [1, { next_attempt_at: at(9) }],
        ]),
      ).to.deep.equal([at(5), 1]);
      expect(
        await runAndReadNext([
          [1, { next_attempt_at: at(40_000) }],
          [1, {}],
        ]),
      ).to.deep.equal([LEASED_UNTIL, 2]);
      expect(
        await runAndReadNext([
          [1, { next_attempt_at: at(40) }],
          [1, {}],
        ]),
      ).to.deep.equal([at(40), 2]);
    });

    it('when the first lease ends, if more are due than may be leased', async () => {
      expect(await runAndReadNext([[5, {}]])).to.deep.equal([LEASED_UNTIL, 2]);
      expect(
        await runAndReadNext([
          [1, OTHER_LEASE],
          [5, {}],
        ]),
      ).to.deep.equal([OTHER_LEASE.leased_until, 2]);
      expect(
        await runAndReadNext([
          [2, OTHER_LEASE],
          [1, { next_attempt_at: NOW }],
        ]),
      ).to.deep.equal([OTHER_LEASE.leased_until, 2]);
    });

    it('when the first lease of a running process ends', async () => {
      for (const leased_until of [at(-1), NOW]) {
        const ended = { ...OTHER_LEASE, leased_until };
        const leases: [number, Row][] = [
          [2, OTHER_LEASE],
          [1, ended],
        ];
        expect(await runAndReadNext(leases)).to.deep.equal([OTHER_LEASE.leased_until, 2]);
        expect(await database.query(PENDING_ARE_DUE, [NOW])).to.deep.equal([]);
      }
    });

    it('by its own deliveries', async () => {
      const other = await createEndpoint({ next_delivery_at: at(77) });
      await createDelivery(other, { next_attempt_at: at(3) });
      await createDelivery(other, { ...OTHER_LEASE, leased_until: at(2) });
      expect(await runAndReadNext([[1, { next_attempt_at: at(5) }]])).to.deep.equal([at(5), 1]);
      expect(await readEndpoint(other)).to.deep.include({ next_delivery_at: at(77), concurrency: 2 });
    });
  });
});
