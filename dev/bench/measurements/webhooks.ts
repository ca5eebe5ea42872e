import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { medianMicroseconds, withProcessorTime } from '../processUsage.ts';

const CLIENTS = 32;
const PATH = '/api/billing/webhooks/processor/';

/** A processor that is never called, since no worker runs. */
const PROCESSOR_ENV = {
  STRIPE_SECRET_KEY: 'sk_test_bench',
  STRIPE_WEBHOOK_SECRET: 'whsec_bench',
  STRIPE_PORTAL_CONFIGURATION: 'bpc_bench',
  STRIPE_PRICE_LITE: 'price_lite',
  STRIPE_PRICE_STARTER: 'price_starter',
  STRIPE_PRICE_PRO: 'price_pro',
  STRIPE_PRICE_STUDIO: 'price_studio',
  STRIPE_API_BASE: 'http://127.0.0.1:1',
};

/**
 * Measures acknowledgements of signed events, each of which is new, stored and enqueued, against bare Koa that inserts
 * one row. All of them are counted at the end.
 */
export async function measureWebhooks(environment: BenchEnvironment): Promise<Measurement[]> {
  const { rounds, roundMs } = environment.options;
  const { url, client } = await environment.database('bench_webhooks');
  await client.query('CREATE TABLE bare_events (LIKE payment_events INCLUDING ALL)');
  const api = await environment.api(url, PROCESSOR_ENV);
  const events = await environment.child('./load/webhookEvents.ts', url);
  const bareKoa = await environment.child('./baselines/bareEvents.ts', url);
  const barePort = await bareKoa.call<number>('port');
  const acknowledged = { service: 0, bare: 0 };

  async function run(name: 'service' | 'bare', port: number): Promise<LoopResult> {
    const result = await events.call<LoopResult>('run', port, PATH, CLIENTS, roundMs);
    acknowledged[name] += result.done;
    return result;
  }

  await run('service', api.port);
  await run('bare', barePort);
  const processes = {
    api: api.pid,
    postgres: environment.postgres.pid,
    redis: environment.redis.pid,
    client: events.pid,
  };
  const { a, b } = await alternateRounds(
    rounds,
    () =>
      withProcessorTime(
        processes,
        () => run('service', api.port),
        ({ done }) => done,
      ),
    () => run('bare', barePort),
  );
  await Promise.all([api.end(), events.end(), bareKoa.end()]);
  await verifyStoredEvents(client, acknowledged);
  const redis = new Redis(environment.redis.url);
  await redis.flushall();
  redis.disconnect();

  const p99 = { a: a.map(({ result }) => result.p99Ms), b: b.map((result) => result.p99Ms) };
  return [
    {
      target: 'webhooks',
      value: medianRatio(p99),
      parts: {
        'service p99 ms': median(p99.a),
        'bare p99 ms': median(p99.b),
        'service/s': median(a.map(({ result }) => result.perSecond)),
        'bare/s': median(b.map((result) => result.perSecond)),
        clients: CLIENTS,
        ...medianMicroseconds(a),
      },
    },
  ];
}

async function verifyStoredEvents(client: Client, acknowledged: { service: number; bare: number }): Promise<void> {
  const { rows } = await client.query<{ service: number; bare: number }>(
    `SELECT (SELECT count(*)::int FROM payment_events) AS service, (SELECT count(*)::int FROM bare_events) AS bare`,
  );
  if (rows[0]!.service !== acknowledged.service || rows[0]!.bare !== acknowledged.bare) {
    throw new Error(`${JSON.stringify(rows[0])} events are stored after ${JSON.stringify(acknowledged)} acknowledged.`);
  }
}
