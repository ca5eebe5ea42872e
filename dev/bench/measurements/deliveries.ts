import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { generateSigningKeys } from '../../../shared/domain/webhooks/signingKeys.ts';
import type { BareQueue } from '../baselines/bareQueue.ts';
import type { WebhookSink } from '../baselines/webhookSink.ts';
import type { Bench } from '../bench.ts';
import type { Figures, Round } from '../figure.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';
import { countRows, verifyCount } from '../verify.ts';
import { waitForSteadyState } from './pipeline.ts';

/** The service's default number of concurrent jobs, which the bare worker uses as well. */
const CONCURRENCY = 16;
/** One in ten endpoints hangs. */
const HANGING_SHARE = 10;
/** Far below what the service delivers, so that only receivers that hang can delay others. */
const STEADY_PER_SECOND = 100;
/**
 * Longer than an attempt: the endpoints that hang fail for the first time. Rounds without them have the same, so that
 * both work on as many rows.
 */
const WARM_UP_MS = 20_000;

/**
 * Measures deliveries per second from the rows of events to the receiver, against a job of bare BullMQ that posts; and
 * the delay of events at a constant rate, with one in ten endpoints hanging and with none.
 */
export async function* measure(bench: Bench): Figures {
  for (const endpoints of [1, 100, 10_000]) {
    yield* measureEndpoints(bench, endpoints);
    await bench.endMeasurement();
  }
}

async function* measureEndpoints(bench: Bench, endpoints: number): Figures {
  const { events, steadyMs, steadyRounds } = bench.options.deliveries;
  const steadyEvents = (STEADY_PER_SECOND * (WARM_UP_MS + steadyMs)) / 1_000;
  const rows = Math.ceil(Math.max(events, steadyEvents + STEADY_PER_SECOND) / endpoints);
  const seed = { accounts: endpoints, hotRows: rows, rowsPerAccount: rows };
  const { url, client } = await bench.seed(`deliveries_${endpoints}`, seed);
  const sink = await bench.child<WebhookSink>('baselines/webhookSink.ts', url);
  const base = await sink.base();
  await seedEndpoints(client, base);
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
  const queue = await bench.child<BareQueue>('baselines/bareQueue.ts', url);
  await queue.work(CONCURRENCY);
  bench.worker(url, {
    FAL_KEY: 'bench',
    FAL_BASE_URL: base,
    WEBHOOK_ADDRESSES: 'any',
    WORKER_CONCURRENCY: String(CONCURRENCY),
  });
  const urls = Array.from({ length: endpoints }, (_, n) => `${base}/ok/${n + 1}`);
  const { rows: generations } = await client.query<{ data: object }>(
    'SELECT to_jsonb(g) AS data FROM generations g LIMIT 1',
  );

  /**
   * Deletes the events, and makes every so many endpoints hang. Attempts in flight of the round before fail during the
   * warm-up, and are not recorded.
   */
  async function reset(hangingShare?: number): Promise<void> {
    await client.query('TRUNCATE webhook_deliveries, outbox_events, emails');
    await client.query(
      `UPDATE webhook_endpoints
          SET url = $1 || CASE WHEN id % $2 = 0 THEN '/hang/' ELSE '/ok/' END || account_id,
              failing_since = NULL, next_delivery_at = NULL, concurrency = 1`,
      [base, hangingShare ?? null],
    );
    await client.query('VACUUM ANALYZE webhook_endpoints');
    await sink.reset();
  }

  async function readDelivered(): Promise<Round> {
    await waitForSteadyState(async () => (await sink.count()) >= events);
    const result = await sink.result();
    verifyCount('messages that arrived', result.done, events);
    return result;
  }

  /** Records events at a constant rate; those of the warm-up do not count. */
  async function runSteadyRound(hangingShare?: number): Promise<Round> {
    await reset(hangingShare);
    const recording = service.recordSteadily(STEADY_PER_SECOND, WARM_UP_MS + steadyMs);
    await delay(WARM_UP_MS);
    await sink.reset();
    await recording;
    await delay(2_000);
    const undelivered = `webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
                          WHERE d.status <> 'succeeded' AND e.url LIKE '%/ok/%'`;
    verifyCount('events that were not delivered', await countRows(client, undelivered), 0);
    return sink.result();
  }

  yield {
    name: `webhooks delivered, endpoints: ${endpoints} : bare BullMQ and a POST`,
    ours: async () => {
      await reset();
      await service.recordEvents(events, 0);
      const delivered = await readDelivered();
      await waitForSteadyState(
        async () => (await countRows(client, 'webhook_endpoints WHERE next_delivery_at IS NOT NULL')) === 0,
      );
      const others = `webhook_deliveries WHERE status <> 'succeeded' OR attempts <> 1`;
      verifyCount('deliveries that did not succeed at once', await countRows(client, others), 0);
      return delivered;
    },
    bare: async () => {
      await sink.reset();
      await queue.add(events, urls, generations[0]!.data);
      const delivered = await readDelivered();
      await queue.stop();
      return delivered;
    },
    target: [0.3, 1],
  };
  if (endpoints > 1)
    yield {
      name: `webhook delay, p99, endpoints: ${endpoints}, one in ten hangs : none`,
      ours: () => runSteadyRound(HANGING_SHARE),
      bare: () => runSteadyRound(),
      by: 'p99 ms',
      target: [1.1, 1.1],
      rounds: steadyRounds,
      isWarm: true,
      isPooled: true,
    };
}

/**
 * An endpoint for each account but the spare one, all with the same keys; and the order of events: all accounts in
 * turn.
 */
async function seedEndpoints(client: Client, base: string): Promise<void> {
  const { secret, privateKey, publicKey } = generateSigningKeys();
  await client.query(
    `INSERT INTO webhook_endpoints (uuid, account_id, url, secret, private_key, public_key, created_at, updated_at)
     SELECT gen_random_uuid(), id, $1 || '/ok/' || id, $2, $3, $4, now(), now() FROM accounts WHERE generation_count > 0`,
    [base, secret, privateKey, publicKey],
  );
  await client.query(
    `CREATE TABLE bench_subjects AS
     SELECT row_number() OVER (ORDER BY number, account_id) AS place, account_id, uuid FROM generations`,
  );
  await client.query('ALTER TABLE bench_subjects ADD PRIMARY KEY (place)');
  await client.query('UPDATE accounts SET webhook_count = 1 WHERE generation_count > 0');
  await client.query('VACUUM ANALYZE webhook_endpoints, accounts, bench_subjects');
}
