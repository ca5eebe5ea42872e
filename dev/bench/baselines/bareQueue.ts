import { Queue, Worker } from 'bullmq';
import { serveParent } from '../childProcess.ts';
import { type LoopClient, type ClosedLoop, startLoop } from '../load/closedLoop.ts';

/**
 * Jobs that do nothing, on the same Redis: the throughput of the queue alone. One process adds them, each with an
 * awaited `add` of its own, 32 at a time (which is faster than `addBulk`); another one works.
 */
const CONCURRENT_ADDS = 32;
const queueName = 'nothing';
const connection = { url: process.env['REDIS_URL'] as string };
const prefix = `{${process.env['REDIS_PREFIX']}-bare}`;

let queue: Queue | undefined;
let adding: ClosedLoop | undefined;
let performed = 0;

async function addOne(target: Queue, done: (error: Error | null) => void): Promise<void> {
  let problem: Error | null = null;
  try {
    await target.add('nothing', { generations: [{ uuid: '0192f0c1-9e6b-7cc1-8000-0123456789ab', account_id: 1 }] });
  } catch (error) {
    problem = error as Error;
  }
  done(problem);
}

serveParent({
  startAdding: (allowed: number) => {
    const target = new Queue(queueName, {
      connection,
      prefix,
      defaultJobOptions: { removeOnComplete: { count: 1_000 }, attempts: 3 },
    });
    queue = target;
    const client: LoopClient = (done) => void addOne(target, done);
    adding = startLoop(
      Array.from({ length: CONCURRENT_ADDS }, () => client),
      allowed,
    );
  },
  allow: (total: number) => adding?.allow(total),
  stopAdding: async () => {
    const result = await adding?.stop();
    await queue?.close();
    return result;
  },
  startWorking: async (concurrency: number) => {
    const worker = new Worker(
      queueName,
      async () => {
        performed += 1;
      },
      { connection, prefix, concurrency },
    );
    await worker.waitUntilReady();
  },
  performed: () => performed,
});
