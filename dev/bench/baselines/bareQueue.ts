import { Queue, Worker } from 'bullmq';
import { Agent, request } from 'undici';
import { serveParent } from '../childProcess.ts';
import { Loop, type LoopClient } from '../load/loop.ts';

/**
 * BullMQ alone on the same Redis: jobs that do nothing, or post a message. One process adds them, each with an awaited
 * `add` of its own, 32 at a time (which is faster than `addBulk`); another one works.
 */
const CONCURRENT_ADDS = 32;
const queueName = 'bare';
const connection = { url: process.env['REDIS_URL'] as string };
const prefix = `{${process.env['REDIS_PREFIX']}-bare}`;

let queue: Queue | undefined;
let adding: Loop | undefined;
let performed = 0;

interface Message {
  url: string;
  body: string;
}

async function addOne(target: Queue, data: object, done: (error: Error | null) => void): Promise<void> {
  let problem: Error | null = null;
  try {
    await target.add('bare', data);
  } catch (error) {
    problem = error as Error;
  }
  done(problem);
}

const handlers = {
  /**
   * Adds jobs up to a limit, which `allow` raises.
   * @param urls of the messages, in turn; none for jobs that do nothing.
   */
  add: (limit: number, urls: string[] = [], data: object = {}): void => {
    const target = (queue ??= new Queue(queueName, {
      connection,
      prefix,
      defaultJobOptions: { removeOnComplete: { count: 1_000 }, attempts: 3 },
    }));
    let added = 0;
    const buildData = (): object => {
      if (urls.length === 0) return { generations: [{ uuid: '0192f0c1-9e6b-7cc1-8000-0123456789ab', account_id: 1 }] };
      const body = JSON.stringify({ type: 'generation.succeeded', timestamp: new Date(), data });
      return { url: urls[added++ % urls.length], body };
    };
    const client: LoopClient = (done) => void addOne(target, buildData(), done);
    adding = new Loop(
      Array.from({ length: CONCURRENT_ADDS }, () => client),
      { limit },
    );
  },
  allow: (total: number): void => adding?.allow(total),
  /** @returns the number of jobs that were added. */
  stop: async (): Promise<number> => (await adding!.stop()).done,
  work: async (concurrency: number): Promise<void> => {
    const dispatcher = new Agent({ connections: concurrency });
    const worker = new Worker(
      queueName,
      async ({ data: { url, body } }: { data: Partial<Message> }) => {
        performed += 1;
        if (url === undefined || body === undefined) return;
        const headers = { 'content-type': 'application/json' };
        await (await request(url, { dispatcher, method: 'POST', headers, body })).body.dump();
      },
      { connection, prefix, concurrency },
    );
    await worker.waitUntilReady();
  },
  performed: (): number => performed,
};
export type BareQueue = typeof handlers;

serveParent(handlers);
