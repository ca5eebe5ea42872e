import { setTimeout as delay } from 'node:timers/promises';
import { renewDueCreditPeriods } from '../../../shared/domain/credits/renewDuePeriods.ts';
import { completeGeneration } from '../../../shared/domain/generations/execution/completeOrFail.ts';
import { issueAccessToken, verifyAccessToken } from '../../../shared/domain/oauth/accessTokens.ts';
import { makeThumbnail } from '../../../shared/gateways/media/thumbnail.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { db } from '../../../shared/lib/database/pool.ts';
import type { GenerationKey } from '../../../shared/queues/catalog.ts';
import { enqueueTasks, openQueues } from '../../../shared/queues/enqueue.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

/** Functions of the service, called in a process that does nothing else, as a worker's jobs call them. */
await openService(parseConfig(process.env), { isWorker: true });
await openQueues();

const SCOPES = new Set(['svc:read', 'svc:write'] as const);
/** Fewer than the cache of verified tokens holds. */
const TOKENS = 4_000;
const TOKEN_REPETITIONS = 25;
const RECORD_INTERVAL_MS = 50;

/** Runs work, and returns its processor time in microseconds, divided by a number. */
async function measureProcessor(times: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

async function verifyAll(tokens: string[]): Promise<void> {
  for (const token of tokens) await verifyAccessToken(token);
}

const handlers = {
  /** Renews credit periods. @param runMaxMs null: until no account is due. */
  renew: async (runMaxMs: number | null): Promise<{ renewed: number; ms: number }> => {
    const startedAt = performance.now();
    const renewed = await renewDueCreditPeriods({ runMaxMs: runMaxMs ?? Infinity });
    return { renewed, ms: performance.now() - startedAt };
  },

  /** Completes generations in the batches that a worker forms. */
  complete: async (generations: GenerationKey[]): Promise<{ completed: number; ms: number }> => {
    const startedAt = performance.now();
    const rest = { thumbnail_path: null, more_outputs: null, is_watermarked: false, provider_cost_cents: null };
    const completed = await Promise.all(
      generations.map((key) => completeGeneration({ ...key, ...rest, output_path: `bench/${key.uuid}.png` })),
    );
    return { completed: completed.filter(Boolean).length, ms: performance.now() - startedAt };
  },

  /** Makes a thumbnail of each file, again and again. @returns their number and average size in bytes. */
  makeThumbnails: async (files: string[], repetitions: number): Promise<{ done: number; bytes: number }> => {
    let bytes = 0;
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      const thumbnails = await Promise.all(files.map((filePath) => makeThumbnail({ kind: 'image', filePath })));
      bytes += thumbnails.reduce((sum, { length }) => sum + length, 0);
    }
    const done = files.length * repetitions;
    return { done, bytes: bytes / done };
  },

  /** Inserts events of the next generations of `bench_subjects`, and enqueues their dispatch. */
  recordEvents: async (events: number, skip: number): Promise<void> => {
    await db.raw(
      `INSERT INTO outbox_events (account_id, type, subject, created_at)
       SELECT account_id, 'generation.succeeded', uuid::text, now() FROM bench_subjects
        WHERE place > :skip AND place <= :until`,
      { skip, until: skip + events },
    );
    await enqueueTasks('event.dispatch');
  },

  /** Records events at a constant rate. */
  recordSteadily: async (perSecond: number, durationMs: number): Promise<void> => {
    const startedAt = performance.now();
    for (let [recorded, elapsedMs] = [0, 0]; elapsedMs < durationMs; await delay(RECORD_INTERVAL_MS)) {
      elapsedMs = performance.now() - startedAt;
      const due = Math.floor((Math.min(elapsedMs, durationMs) * perSecond) / 1_000);
      if (due > recorded) await handlers.recordEvents(due - recorded, recorded);
      recorded = due;
    }
  },

  /** Issues a token for the REST interface from each grant. */
  issueTokens: (grants: { accountUuid: string; grantUuid: string }[]): Promise<string[]> =>
    Promise.all(
      grants.map((grant) => issueAccessToken({ ...grant, clientId: 'bench', resource: 'api', scopes: SCOPES })),
    ),

  /** Measures the processor time to issue a token, and to verify it for the first time and again. */
  measureTokens: async (): Promise<Record<'issue µs' | 'new µs' | 'known µs', number>> => {
    const owner = { accountUuid: crypto.randomUUID(), grantUuid: crypto.randomUUID() };
    let tokens: string[] = [];
    const issue = await measureProcessor(TOKENS, async () => {
      tokens = await handlers.issueTokens(Array.from({ length: TOKENS }, () => owner));
    });
    const first = await measureProcessor(TOKENS, () => verifyAll(tokens));
    const again = await measureProcessor(TOKENS * TOKEN_REPETITIONS, async () => {
      for (let time = 0; time < TOKEN_REPETITIONS; time += 1) await verifyAll(tokens);
    });
    return { 'issue µs': issue, 'new µs': first, 'known µs': again };
  },
};
export type ServiceCalls = typeof handlers;

serveParent(handlers);
