import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';

/**
 * What the logs need so that one create can be followed through all processes: which request a generation was created
 * by, and which job is at work on it here. For the logs only; what is forgotten is missing there and nowhere else.
 */

/** Far more than one process has under way. */
const MAX_ENTRIES = 20_000;

const requestIdByGeneration = new LRUCache<string, string>({ max: MAX_ENTRIES });
/** What a line says of a job; its id is unique in its queue only. */
interface JobContext {
  queue: string;
  jobId: string;
}

const jobByGeneration = new LRUCache<string, JobContext>({ max: MAX_ENTRIES });
const currentJob = new AsyncLocalStorage<JobContext>();

/** Notes which request a generation was created by. */
export function rememberRequestId(generationId: string, requestId: string): void {
  requestIdByGeneration.set(generationId, requestId);
}

/** The requests of these generations, as far as they are known; undefined where none is. */
export function getRequestIds(generationIds: string[]): Record<string, string> | undefined {
  const known: Record<string, string> = {};
  for (const id of generationIds) {
    const requestId = requestIdByGeneration.get(id);
    if (requestId !== undefined) known[id] = requestId;
  }
  return Object.keys(known).length === 0 ? undefined : known;
}

interface LoggedJob {
  id: string;
  queue: string;
  generationIds?: readonly string[];
  requestIds?: Record<string, string>;
}

/** Does a job's work: what is logged meanwhile, and later about its generations, says that it was this job. */
export function withLogContext<Result>(
  { id, queue, generationIds = [], requestIds = {} }: LoggedJob,
  work: () => Result,
): Result {
  const job = { queue, jobId: id };
  for (const generationId of generationIds) jobByGeneration.set(generationId, job);
  for (const [generationId, requestId] of Object.entries(requestIds)) rememberRequestId(generationId, requestId);
  return currentJob.run(job, work);
}

/** What else a line of the log is to say: for pino, which calls it with each. */
export function getLogContext(
  line: object,
  _level: number,
  logger: { bindings(): object },
): { requestId?: string } & Partial<JobContext> {
  const { generationId, jobId, queue } = line as Record<string, unknown>;
  const isOfOne = typeof generationId === 'string';
  const known = isOfOne ? requestIdByGeneration.get(generationId) : undefined;
  // While the request is served its log says so already.
  const request = known === undefined || 'requestId' in logger.bindings() ? undefined : known;
  // Generations are worked on in batches, begun by any of their jobs: about one of them its own job is named.
  const saysItself = jobId !== undefined || queue !== undefined;
  const job = saysItself
    ? undefined
    : ((isOfOne ? jobByGeneration.get(generationId) : undefined) ?? currentJob.getStore());
  return { ...(request === undefined ? {} : { requestId: request }), ...job };
}
