import { Queue, Worker } from 'bullmq';
import { Agent, request } from 'undici';
import { serveParent } from '../childProcess.ts';

/** A job for each message, whose processor posts it: the least that delivers messages through the queue. */
const queueName = 'post';
const connection = { url: process.env['REDIS_URL'] as string };
const prefix = `{${process.env['REDIS_PREFIX']}-bare-post}`;
const CONCURRENT_ADDS = 32;

serveParent({
  startWorking: async (concurrency: number) => {
    const dispatcher = new Agent({ connections: concurrency });
    const worker = new Worker(
      queueName,
      async ({ data }: { data: { url: string; body: string } }) => {
        const headers = { 'content-type': 'application/json' };
        const response = await request(data.url, { dispatcher, method: 'POST', headers, body: data.body });
        await response.body.dump();
      },
      { connection, prefix, concurrency },
    );
    await worker.waitUntilReady();
  },
  /** Adds a job for each address in turn. */
  add: async (urls: string[], jobs: number, data: object) => {
    const queue = new Queue(queueName, { connection, prefix, defaultJobOptions: { removeOnComplete: true } });
    let added = 0;
    const addNext = async (): Promise<void> => {
      while (added < jobs) {
        const url = urls[added % urls.length];
        added += 1;
        const body = JSON.stringify({ type: 'generation.succeeded', timestamp: new Date(), data });
        await queue.add('post', { url, body });
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_ADDS }, addNext));
    await queue.close();
  },
});
