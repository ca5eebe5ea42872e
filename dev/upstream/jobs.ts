import { EventEmitter, once } from 'node:events';
import type { Input } from './input.ts';
import type { MediaFiles, StoredFile } from './mediaFiles.ts';
import type { RenderOrder } from './orders.ts';
import type { RenderPool } from './renderPool.ts';

export interface Failure {
  kind: 'failed';
  reason: 'nothing made' | 'cancelled' | 'broke down';
  message: string;
}

export type Outcome = { kind: 'succeeded'; files: StoredFile[] } | Failure;

/** What a protocol hands over. */
export interface Submission {
  /** As the protocol's ids look; files are named after it. */
  id: string;
  /** Whose it is: it is found in this book only. */
  book: string;
  model: string;
  /** As it was asked for. */
  input: Input;
  order: RenderOrder;
}

export interface Job extends Submission {
  submittedAt: number;
  startedAt: number | null;
  completedAt: number | null;
  outcome: Outcome | null;
}

export interface Jobs {
  /** Takes a job on, or returns null when too many wait already. */
  submit(submission: Submission): Job | null;
  find(book: string, id: string): Job | undefined;
  queuePosition(job: Job): number;
  /** Resolves once the job has an outcome. */
  ended(job: Job): Promise<Outcome>;
  /** Ends an unfinished job. False when it had ended before. */
  cancel(job: Job): boolean;
  /** Ends a job if need be, and drops it with its files. */
  forget(job: Job): void;
  close(): void;
}

const KEPT_MS = 60 * 60 * 1000;
const SLOW_MS = 60_000;
const MAX_KEPT = 5000;
const MAX_KEPT_BYTES = 2 * 1024 ** 3;
const MAX_UNFINISHED = 1000;
const NOTHING_MADE = 'The model could not generate what was asked for. Please change the prompt and try again.';

/**
 * Keeps the jobs, in memory: after a restart every request is unknown, which its callers must bear with anyway.
 * Each takes at least `delayMs` from submission to completion, and 60 s with `[slow]` in its prompt; with `[fail]` it
 * starts and then fails. Finished jobs go after an hour, the oldest sooner when there are more than 5,000
 * of them or 2 GiB of files.
 */
export function keepJobs(options: { delayMs: number; pool: RenderPool; files: MediaFiles }): Jobs {
  const { delayMs, pool, files } = options;
  const jobs = new Map<string, Job>();
  const due = new Map<string, { timer: NodeJS.Timeout; outcome: Outcome }>();
  const ends = new EventEmitter();
  let unfinished = 0;
  let keptBytes = 0;
  const sweeper = setInterval(sweep, 60_000).unref();

  function submit(submission: Submission): Job | null {
    if (unfinished >= MAX_UNFINISHED) return null;
    const job: Job = { ...submission, submittedAt: Date.now(), startedAt: null, completedAt: null, outcome: null };
    jobs.set(job.id, job);
    unfinished += 1;
    if (job.order.prompt.includes('[fail]')) {
      job.startedAt = Date.now();
      finishWhenDue(job, { kind: 'failed', reason: 'nothing made', message: NOTHING_MADE });
    } else void render(job);
    return job;
  }

  async function render(job: Job): Promise<void> {
    try {
      const rendered = await pool.render(job.id, job.order, files.folder, () => (job.startedAt = Date.now()));
      // Cancelled meanwhile: nobody will ask for these.
      if (job.outcome) return files.remove(rendered);
      finishWhenDue(job, { kind: 'succeeded', files: rendered });
    } catch (error) {
      if (!job.outcome) finish(job, brokenDown(error));
    }
  }

  function finishWhenDue(job: Job, outcome: Outcome): void {
    const minimumMs = job.order.prompt.includes('[slow]') ? Math.max(SLOW_MS, delayMs) : delayMs;
    const waitMs = job.submittedAt + minimumMs - Date.now();
    if (waitMs <= 0) return finish(job, outcome);
    due.set(job.id, { timer: setTimeout(() => finish(job, outcome), waitMs), outcome });
  }

  function finish(job: Job, outcome: Outcome): void {
    due.delete(job.id);
    unfinished -= 1;
    job.outcome = outcome;
    job.completedAt = Date.now();
    keptBytes += bytesOf(outcome);
    ends.emit(job.id);
    if (isFull()) sweep();
  }

  async function ended(job: Job): Promise<Outcome> {
    if (!job.outcome) await once(ends, job.id);
    return job.outcome!;
  }

  function cancel(job: Job): boolean {
    if (job.outcome) return false;
    pool.drop(job.id);
    const rendered = due.get(job.id);
    clearTimeout(rendered?.timer);
    if (rendered?.outcome.kind === 'succeeded') files.remove(rendered.outcome.files);
    finish(job, { kind: 'failed', reason: 'cancelled', message: 'The request was cancelled by the client' });
    return true;
  }

  function forget(job: Job): void {
    cancel(job);
    if (!jobs.delete(job.id) || !job.outcome) return;
    keptBytes -= bytesOf(job.outcome);
    if (job.outcome.kind === 'succeeded') files.remove(job.outcome.files);
  }

  function isFull(): boolean {
    return jobs.size > MAX_KEPT || keptBytes > MAX_KEPT_BYTES;
  }

  function sweep(): void {
    const oldest = Date.now() - KEPT_MS;
    for (const job of jobs.values()) {
      if (job.outcome && (job.submittedAt < oldest || isFull())) forget(job);
    }
  }

  return {
    submit,
    find: (book, id) => {
      const job = jobs.get(id);
      return job?.book === book ? job : undefined;
    },
    queuePosition: (job) => pool.positionOf(job.id),
    ended,
    cancel,
    forget,
    close: () => {
      clearInterval(sweeper);
      for (const { timer } of due.values()) clearTimeout(timer);
    },
  };
}

function bytesOf(outcome: Outcome): number {
  return outcome.kind === 'succeeded' ? outcome.files.reduce((sum, file) => sum + file.sizeBytes, 0) : 0;
}

function brokenDown(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return { kind: 'failed', reason: 'broke down', message };
}
