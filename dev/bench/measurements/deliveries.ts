import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Client } from 'pg';
import { generateSigningKeys } from '../../../shared/domain/webhooks/signingKeys.ts';
import { alternateRounds, median, medianRatio, quantile } from '../../local/statistics.ts';
import type { BenchChild } from '../childProcess.ts';
import type { BenchEnvironment } from '../environment.ts';
import type { Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import type { TargetName } from '../targets.ts';
import { waitForSteadyState } from '../waitForSteadyState.ts';

/** The service's default number of concurrent jobs, which the bare worker uses as well. */
const CONCURRENCY = 16;
/** One in ten endpoints hangs. */
const HANGING_SHARE = 10;
/** Far below what the service delivers, so that only receivers that hang can delay others. */
const STEADY_PER_SECOND = 100;
/**
 * Longer than an attempt: the endpoints that hang fail for the first time. Rounds without them have the same, so that both
 * work on as many rows.
 */
const WARM_UP_MS = 20_000;

const SCENARIOS: { endpoints: number; throughput: TargetName; delay?: TargetName }[] = [
  { endpoints: 1, throughput: 'deliveries1' },
  { endpoints: 100, throughput: 'deliveries100', delay: 'deliveryDelay100' },
  { endpoints: 10_000, throughput: 'deliveries10000', delay: 'deliveryDelay10000' },
];

interface SinkResult {
  count: number;
  perSecond: number;
  delaysMs: number[];
}

interface DeliveryFixture {
  environment: BenchEnvironment;
  client: Client;
  sink: BenchChild;
  events: BenchChild;
  performer: BenchChild;
  base: string;
  endpoints: number;
}

/**
 * Measures deliveries per second from the rows of events to the receiver, against a job of bare BullMQ that posts; and
 * the delay of events at a constant rate, with one in ten endpoints hanging and with none. The delays of all rounds count
 * together: a round alone has too few above its p99.
 */
export async function measureDeliveries(environment: BenchEnvironment): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const scenario of SCENARIOS) measurements.push(...(await measureScenario(environment, scenario)));
  return measurements;
}

const getP99 = (delaysMs: readonly number[]) => quantile(delaysMs, 0.99);

async function measureScenario(
  environment: BenchEnvironment,
  { endpoints, throughput, delay: delayTarget }: (typeof SCENARIOS)[number],
): Promise<Measurement[]> {
  const { deliveries: size } = environment.options;
  const { url, client } = await environment.database(`bench_deliveries_${endpoints}`);
  const steadyEvents = (STEADY_PER_SECOND * (WARM_UP_MS + size.steadyMs)) / 1_000;
  const rowsPerAccount = Math.ceil(Math.max(size.events, steadyEvents + STEADY_PER_SECOND) / endpoints);
  await seedDatabase(client, { accounts: endpoints, hotRows: rowsPerAccount, rowsPerAccount });
  const sink = await environment.child('./baselines/webhookSink.ts', url);
  const base = await sink.call<string>('base');
  await seedEndpoints(client, base);
  const events = await environment.child('./load/outboxEvents.ts', url);
  const performer = await environment.child('./baselines/barePost.ts', url);
  await performer.call('startWorking', CONCURRENCY);
  const worker = await environment.worker(url, {
    FAL_KEY: 'bench',
    FAL_BASE_URL: base,
    WEBHOOK_ADDRESSES: 'any',
    WORKER_CONCURRENCY: String(CONCURRENCY),
  });
  const fixture = { environment, client, sink, events, performer, base, endpoints };
  await runServiceRound(fixture, Math.ceil(size.events / 4));

  const rounds = await alternateRounds(
    environment.options.rounds,
    () => runServiceRound(fixture, size.events),
    () => runBareRound(fixture, size.events),
  );
  const measurements: Measurement[] = [
    {
      target: throughput,
      value: medianRatio(rounds),
      parts: { 'service/s': median(rounds.a), 'bare/s': median(rounds.b), endpoints, concurrency: CONCURRENCY },
    },
  ];
  if (delayTarget !== undefined) {
    const { a, b } = await alternateRounds(
      size.steadyRounds,
      () => runSteadyRound(fixture, HANGING_SHARE),
      () => runSteadyRound(fixture),
    );
    const [hanging, without] = [a, b].map((results) => results.flatMap(({ delaysMs }) => delaysMs)) as [
      number[],
      number[],
    ];
    measurements.push({
      target: delayTarget,
      value: getP99(hanging) / getP99(without),
      parts: {
        'p99 ms': getP99(hanging),
        'p99 ms without': getP99(without),
        'of rounds': a.map(({ delaysMs }) => getP99(delaysMs)).join(' '),
        'of rounds without': b.map(({ delaysMs }) => getP99(delaysMs)).join(' '),
        'median ms': median(hanging),
        'median ms without': median(without),
        'events/s': STEADY_PER_SECOND,
        endpoints,
      },
    });
  }
  for (const process of [worker, events, performer, sink]) await process.end();
  const redis = new Redis(environment.redis.url);
  await redis.flushall();
  redis.disconnect();
  return measurements;
}

/** An endpoint for each account but the spare one, all with the same keys; and the order of events: all accounts in turn. */
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

/**
 * Deletes the events, and makes every so many endpoints hang; 0: none. Attempts in flight of the round before fail during
 * the warm-up, and are not recorded.
 */
async function reset({ client, base, sink }: DeliveryFixture, hangingShare = 0): Promise<void> {
  await client.query('TRUNCATE webhook_deliveries, outbox_events, emails');
  await client.query(
    `UPDATE webhook_endpoints
        SET url = $1 || CASE WHEN $2 > 0 AND id % greatest($2, 1) = 0 THEN '/hang/' ELSE '/ok/' END || account_id,
            failing_since = NULL, next_delivery_at = NULL, concurrency = 1`,
    [base, hangingShare],
  );
  await client.query('VACUUM ANALYZE webhook_endpoints');
  await sink.call('reset');
}

async function runServiceRound(fixture: DeliveryFixture, count: number): Promise<number> {
  const { sink, events } = fixture;
  await reset(fixture);
  await events.call('record', count, 0);
  await waitForSteadyState(async () => (await sink.call<number>('count')) >= count);
  await waitUntilRecorded(fixture);
  return (await readResult(fixture, count)).perSecond;
}

async function runBareRound(fixture: DeliveryFixture, count: number): Promise<number> {
  const { sink, performer, base, endpoints, client } = fixture;
  await sink.call('reset');
  const urls = Array.from({ length: endpoints }, (_, n) => `${base}/ok/${n + 1}`);
  const { rows } = await client.query<{ data: object }>('SELECT to_jsonb(g) AS data FROM generations g LIMIT 1');
  await performer.call('add', urls, count, rows[0]!.data);
  await waitForSteadyState(async () => (await sink.call<number>('count')) >= count);
  return (await readResult(fixture, count)).perSecond;
}

/** Records events at a constant rate; those of the warm-up do not count. */
async function runSteadyRound(fixture: DeliveryFixture, hangingShare = 0): Promise<SinkResult> {
  const { sink, events, environment, client } = fixture;
  await reset(fixture, hangingShare);
  const { steadyMs } = environment.options.deliveries;
  const recording = events.call<number>('recordSteadily', STEADY_PER_SECOND, WARM_UP_MS + steadyMs);
  await delay(WARM_UP_MS);
  await sink.call('reset');
  await recording;
  await delay(2_000);
  const result = await sink.call<SinkResult>('result');
  const { rows } = await client.query<{ undelivered: number }>(
    `SELECT count(*)::int AS undelivered FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
      WHERE d.status <> 'succeeded' AND e.url LIKE '%/ok/%'`,
  );
  if (rows[0]!.undelivered > 0) throw new Error(`${rows[0]!.undelivered} events were not delivered.`);
  return result;
}

async function waitUntilRecorded({ client }: DeliveryFixture): Promise<void> {
  await waitForSteadyState(async () => {
    const { rowCount } = await client.query(
      'SELECT 1 FROM webhook_endpoints WHERE next_delivery_at IS NOT NULL LIMIT 1',
    );
    return rowCount === 0;
  });
  const { rows } = await client.query<{ failed: number }>(
    `SELECT count(*)::int AS failed FROM webhook_deliveries WHERE status <> 'succeeded' OR attempts <> 1`,
  );
  if (rows[0]!.failed > 0) throw new Error(`${rows[0]!.failed} deliveries did not succeed at once.`);
}

async function readResult({ sink }: DeliveryFixture, count: number): Promise<SinkResult> {
  const result = await sink.call<SinkResult>('result');
  if (result.count !== count) throw new Error(`${result.count} messages arrived instead of ${count}.`);
  return result;
}
