import type { Backoff } from '../../lib/retryBackoff.ts';

/** A task that a worker has claimed. */
export interface Task {
  id: number;
  /** Identifies what it is about, within its kind. */
  key: string;
  accountId: number | null;
  /** Failed runs in a row, without the present one. */
  attempts: number;
  /** When it was first scheduled. */
  createdAt: Date;
  /** Token of the run. */
  lease: string;
}

/** The end of a run that leaves the task, and was not a failure: earlier failures no longer count. */
export interface Postponement {
  runAt: Date;
  /** Names what it waits for, in `last_error`. */
  reason?: string;
}

/** Definition of a kind of tasks. */
export interface TaskKind {
  /** `subject.action`, as in `payout.transfer`. Names the kind in the table, in metrics and on pages of staff. */
  name: string;
  /**
   * Runs one task, or up to `batchSize`. They are done if it returns undefined. It begins by reading the rows that they
   * are about: these may have changed, and another worker may run the same task.
   * @throws any error for a failed run. It is repeated, and the tasks of a failed batch are run one by one.
   */
  run(tasks: readonly [Task, ...Task[]]): Promise<Postponement | undefined>;
  /** Wait after the first failed run, doubled after each further one, and its maximum. */
  backoff: Backoff;
  /**
   * Returns true if a task whose run has just failed is given up: staff may repeat it. Default: it is repeated for
   * ever.
   */
  isGivenUp?(task: Task, error: unknown): boolean;
  /** Maximum number of runs at the same time in one process. Default: 1. */
  concurrency?: number;
  /** Maximum number of tasks of one run. Default: 1. */
  batchSize?: number;
  /** Query of the rows that must have a task: columns `account_id` and `key`. Checked as an invariant. */
  waiting?: string;
}
