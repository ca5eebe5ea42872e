import { AsyncLocalStorage } from 'node:async_hooks';
import { createLruCache } from './lruCache.ts';

/**
 * Correlation for the logs of workers: the request that created a generation and the job that works on it in this
 * process. Used by logs only, so an evicted entry has no other effect.
 */

/** Far more generations than one process works on at a time. */
const MAX_ENTRIES = 20_000;

const requestIdByGeneration = createLruCache<string, string>(MAX_ENTRIES);
/** Fields that identify a job in a log line. Job ids are unique within their queue only. */
interface JobContext {
  queue: string;
  jobId: string;
}

const jobByGeneration = createLruCache<string, JobContext>(MAX_ENTRIES);
const currentJob = new AsyncLocalStorage<JobContext>();

/** Returns the request that created a generation, if known. */
export function getRequestId(generationId: string): string | undefined {
  return requestIdByGeneration.get(generationId);
}

interface LoggedJob {
  id: string;
  queue: string;
  generations: readonly { uuid: string; requestId?: string }[];
}

/** Runs a job. Log lines written meanwhile, and later ones about its generations, carry the job's id. */
export function withLogContext<Result>({ id, queue, generations }: LoggedJob, work: () => Result): Result {
  const job = { queue, jobId: id };
  for (const { uuid, requestId } of generations) {
    jobByGeneration.set(uuid, job);
    if (requestId !== undefined) requestIdByGeneration.set(uuid, requestId);
  }
  return currentJob.run(job, work);
}

/** Returns the additional fields of a log line. Called by pino for each line. */
export function getLogContext(
  line: object,
  _level: number,
  logger: { bindings(): object },
): { requestId?: string } & Partial<JobContext> {
  const { generationId, jobId, queue } = line as Record<string, unknown>;
  const isOfOne = typeof generationId === 'string';
  const known = isOfOne ? requestIdByGeneration.get(generationId) : undefined;
  // While the request is served, its own logger adds the id.
  const request = known === undefined || 'requestId' in logger.bindings() ? undefined : known;
  // A batch mixes generations of several jobs. A line about one generation names the job of that generation.
  const saysItself = jobId !== undefined || queue !== undefined;
  const job = saysItself
    ? undefined
    : ((isOfOne ? jobByGeneration.get(generationId) : undefined) ?? currentJob.getStore());
  return { ...(request === undefined ? {} : { requestId: request }), ...job };
}
