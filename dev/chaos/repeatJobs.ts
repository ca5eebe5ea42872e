import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Stage } from './stage.ts';

/** What is rung for by the clock, by queue: see shared/queues/catalog.ts. */
const SCHEDULED = {
  upkeep: ['credits.grant', 'generation.sweep'],
  payments: ['payments.sweep', 'topups.sweep', 'billing.keepUp', 'affiliates.pay'],
};

/**
 * Rings for what is looked after by the clock, and for all that is queued, several times at once, as a queue may that
 * promises to bring each job at least once: who finds nothing to do does nothing. Where a server is away, it is left at
 * that.
 * @param only one of what the clock rings for, and nothing else.
 */
export async function repeatJobs(
  { redis, databaseUrl }: Stage,
  prefix: string,
  times: number,
  only?: string,
): Promise<void> {
  const connection = new Redis(redis.url, {
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
    commandTimeout: 2_000,
  });
  connection.on('error', () => {});
  try {
    const generationIds = only === undefined ? await queuedGenerations(databaseUrl) : [];
    const ring = (name: string, jobs: readonly (readonly [job: string, data: object])[]) => {
      const queue = new Queue(name, { connection, prefix: `{${prefix}}`, skipVersionCheck: true });
      queue.on('error', () => {});
      const opts = { removeOnComplete: true, removeOnFail: true };
      const repeated = Array.from({ length: times }, () => jobs.map(([job, data]) => ({ name: job, data, opts })));
      return queue.addBulk(repeated.flat());
    };
    const scheduled = Object.entries(SCHEDULED).map(([queue, names]) => {
      const rung = names.filter((name) => only === undefined || name === only);
      return ring(
        queue,
        rung.map((name) => [name, {}]),
      );
    });
    const isAny = generationIds.length > 0;
    const dispatches = isAny ? [ring('dispatches', [['generation.dispatch', { generationIds }]])] : [];
    await Promise.all([...scheduled, ...dispatches]);
  } catch {
    // A server is away, or has just gone.
  } finally {
    connection.disconnect();
  }
}

/** As many as one job rings for. */
async function queuedGenerations(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT uuid FROM generations WHERE status = 'queued' ORDER BY uuid DESC LIMIT 64`,
    );
    return rows.map(({ uuid }: { uuid: string }) => uuid);
  } catch {
    return [];
  } finally {
    await client.end().catch(() => {});
  }
}
