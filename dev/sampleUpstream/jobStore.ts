import { EventEmitter, once } from 'node:events';
import type { RequestInput } from './protocols/inputValidation.ts';
import type { MediaFiles, StoredFile } from './mediaFiles.ts';
import type { RenderRequest } from './renderRequests.ts';
import type { RenderPool } from './renderPool.ts';

export interface JobFailure {
  kind: 'failed';
  reason: 'nothing made' | 'invalid input' | 'cancelled' | 'broke down';
  message: string;
}

export type JobOutcome = { kind: 'succeeded'; files: StoredFile[] } | JobFailure;

/** A submission from a protocol. */
export interface JobSubmission {
  /** In the protocol's format of ids; files are named after it. */
  id: string;
  /** Protocol and app that own the job; it can be found only there. */
  namespace: string;
  model: string;
  /** The input as it was submitted. */
  input: RequestInput;
  renderRequest: RenderRequest;
  /** Address that is called once the job has ended. Absent: none. */
  callbackUrl?: string;
}

export interface Job extends JobSubmission {
  submittedAt: number;
  startedAt: number | null;
  completedAt: number | null;
  outcome: JobOutcome | null;
}

export interface JobStore {
  /** Accepts a job, or returns null if too many are waiting. */
  submit(submission: JobSubmission): Job | null;
  find(book: string, id: string): Job | undefined;
  queuePosition(job: Job): number;
  /** Resolves once the job has an outcome. */
  waitForEnd(job: Job): Promise<JobOutcome>;
  /** Cancels an unfinished job. Returns false if it had already ended. */
  cancel(job: Job): boolean;
  /** Cancels a job if necessary, and deletes it with its files. */
  remove(job: Job): void;
  close(): void;
}

const RETENTION_MS = 60 * 60 * 1000;
const SLOW_JOB_MS = 60_000;
const MAX_JOBS = 5000;
const MAX_STORED_BYTES = 2 * 1024 ** 3;
const MAX_UNFINISHED = 1000;
const NO_OUTPUT_MESSAGE = 'The model could not generate what was asked for. Please change the prompt and try again.';

/**
 * Stores the jobs in memory: after a restart every request is unknown, which clients must handle anyway. Each takes at
 * least `delayMs` from submission to completion, and 60 s with `[slow]` in its prompt; with `[fail]` it starts and then
 * fails. Finished jobs are deleted after an hour, the oldest sooner if there are more than 5,000 of them or 2 GiB of
 * files.
 */
export function createJobStore(options: {
  delayMs: number;
  pool: RenderPool;
  files: MediaFiles;
  onEnd: (job: Job) => void;
}): JobStore {
  const { delayMs, pool, files, onEnd } = options;
  const jobs = new Map<string, Job>();
  const due = new Map<string, { timer: NodeJS.Timeout; outcome: JobOutcome }>();
  const ends = new EventEmitter();
  let unfinished = 0;
  let storedBytes = 0;
  const sweeper = setInterval(sweep, 60_000).unref();

  function submit(submission: JobSubmission): Job | null {
    if (unfinished >= MAX_UNFINISHED) return null;
    const job: Job = { ...submission, submittedAt: Date.now(), startedAt: null, completedAt: null, outcome: null };
    jobs.set(job.id, job);
    unfinished += 1;
    if (job.renderRequest.prompt.includes('[fail]')) {
      job.startedAt = Date.now();
      finishWhenDue(job, { kind: 'failed', reason: 'nothing made', message: NO_OUTPUT_MESSAGE });
    } else void render(job);
    return job;
  }

  async function render(job: Job): Promise<void> {
    try {
      const rendered = await pool.render(job.id, job.renderRequest, files.folder, () => (job.startedAt = Date.now()));
      // Canceled meanwhile: the files are not needed.
      if (job.outcome) return files.remove(rendered);
      finishWhenDue(job, { kind: 'succeeded', files: rendered });
    } catch (error) {
      if (!job.outcome) finish(job, toRenderFailure(error));
    }
  }

  function finishWhenDue(job: Job, outcome: JobOutcome): void {
    const minimumMs = job.renderRequest.prompt.includes('[slow]') ? Math.max(SLOW_JOB_MS, delayMs) : delayMs;
    const waitMs = job.submittedAt + minimumMs - Date.now();
    if (waitMs <= 0) return finish(job, outcome);
    due.set(job.id, { timer: setTimeout(() => finish(job, outcome), waitMs), outcome });
  }

  function finish(job: Job, outcome: JobOutcome): void {
    due.delete(job.id);
    unfinished -= 1;
    job.outcome = outcome;
    job.completedAt = Date.now();
    storedBytes += sumFileBytes(outcome);
    ends.emit(job.id);
    onEnd(job);
    if (isFull()) sweep();
  }

  async function ended(job: Job): Promise<JobOutcome> {
    if (!job.outcome) await once(ends, job.id);
    return job.outcome!;
  }

  function cancel(job: Job): boolean {
    if (job.outcome) return false;
    pool.remove(job.id);
    const rendered = due.get(job.id);
    clearTimeout(rendered?.timer);
    if (rendered?.outcome.kind === 'succeeded') files.remove(rendered.outcome.files);
    finish(job, { kind: 'failed', reason: 'cancelled', message: 'The request was cancelled by the client' });
    return true;
  }

  function removeJob(job: Job): void {
    cancel(job);
    if (!jobs.delete(job.id) || !job.outcome) return;
    storedBytes -= sumFileBytes(job.outcome);
    if (job.outcome.kind === 'succeeded') files.remove(job.outcome.files);
  }

  function isFull(): boolean {
    return jobs.size > MAX_JOBS || storedBytes > MAX_STORED_BYTES;
  }

  function sweep(): void {
    const oldest = Date.now() - RETENTION_MS;
    for (const job of jobs.values()) {
      if (job.outcome && (job.submittedAt < oldest || isFull())) removeJob(job);
    }
  }

  return {
    submit,
    find: (book, id) => {
      const job = jobs.get(id);
      return job?.namespace === book ? job : undefined;
    },
    queuePosition: (job) => pool.getPosition(job.id),
    waitForEnd: ended,
    cancel,
    remove: removeJob,
    close: () => {
      clearInterval(sweeper);
      for (const { timer } of due.values()) clearTimeout(timer);
    },
  };
}

function sumFileBytes(outcome: JobOutcome): number {
  return outcome.kind === 'succeeded' ? outcome.files.reduce((sum, file) => sum + file.sizeBytes, 0) : 0;
}

function toRenderFailure(error: unknown): JobFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { kind: 'failed', reason: 'broke down', message };
}
