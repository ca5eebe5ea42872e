import { randomUUID } from 'node:crypto';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isDraining, trackInFlight } from '../../lib/drain.ts';
import { createLeaseHeartbeat } from '../../lib/leaseHeartbeat.ts';
import { logger } from '../../lib/logger.ts';
import { taskDuration } from '../../lib/metrics.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { perService } from '../../lib/serviceScope.ts';
import { describeKey } from './listTasks.ts';
import type { Postponement, Task, TaskKind } from './taskKind.ts';

const CLAIM_TASKS = prepared(
  'claim_tasks',
  `WITH due AS MATERIALIZED (
     SELECT id FROM tasks WHERE kind = :kind AND run_at <= :now
      ORDER BY run_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE tasks t SET run_at = :until, lease = :lease FROM due WHERE t.id = due.id
   RETURNING t.id, t.key, t.account_id AS "accountId", t.attempts, t.created_at AS "createdAt", t.lease`,
);

/** Tasks whose leases are still ours. */
const HELD = `unnest(cast(:ids AS bigint[]), cast(:leases AS uuid[])) AS held (id, lease)
    WHERE t.id = ANY (cast(:ids AS bigint[])) AND t.id = held.id AND t.lease = held.lease`;

const RENEW_LEASES = prepared('renew_task_leases', `UPDATE tasks t SET run_at = :until FROM ${HELD}`);

const COMPLETE_TASKS = prepared('complete_tasks', `DELETE FROM tasks t USING ${HELD}`);

const POSTPONE_TASK = prepared(
  'postpone_task',
  `UPDATE tasks SET run_at = :runAt, lease = NULL, attempts = :attempts, last_error = :reason
    WHERE id = :id AND lease = :lease`,
);

const FIND_DUE_KINDS = prepared(
  'find_due_task_kinds',
  `SELECT name FROM unnest(cast(:names AS text[])) AS name
    WHERE EXISTS (SELECT FROM tasks WHERE kind = name AND run_at <= :now)`,
);

/** Time after which the tasks of a process that died are run by another one. Renewed while they run. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const ERROR_MAX_LENGTH = 500;

/** The runs of a kind in this process. */
interface Runner {
  active: number;
  /** True if tasks may have become due since the last claim. */
  isRequested: boolean;
}

const runners = perService(() => new Map<string, Runner>());

/** Starts the kinds that have tasks due. Does not wait for the runs. */
export async function sweepTasks(kinds: readonly TaskKind[]): Promise<void> {
  const rows = await runStatement<{ name: string }>(FIND_DUE_KINDS, {
    names: kinds.map(({ name }) => name),
    now: now(),
  });
  const due = new Set(rows.map(({ name }) => name));
  for (const kind of kinds) if (due.has(kind.name)) startTasks(kind);
}

/** Starts to run the tasks of a kind that are due, as many at a time as it allows. Does not wait for the runs. */
export function startTasks(kind: TaskKind): void {
  let runner = runners().get(kind.name);
  if (runner === undefined) {
    runner = { active: 0, isRequested: false };
    runners().set(kind.name, runner);
  }
  runner.isRequested = true;
  const { concurrency = 1 } = kind;
  while (runner.active < concurrency && !isDraining()) {
    runner.active += 1;
    trackInFlight(runWhileDue(kind, runner));
  }
}

/**
 * Runs tasks one after another until none is due, or one fails: while a system that they need is down, a process makes
 * few attempts between two sweeps.
 */
async function runWhileDue(kind: TaskKind, runner: Runner): Promise<void> {
  try {
    while (!isDraining()) {
      runner.isRequested = false;
      const tasks = await claim(kind);
      if (isFilled(tasks)) {
        if (!(await withLeases(tasks, () => runClaimed(kind, tasks)))) return;
      } else if (!runner.isRequested) return;
    }
  } catch (err) {
    logger.warn({ err, kind: kind.name }, 'run of tasks ended; sweep will continue');
  } finally {
    runner.active -= 1;
  }
}

async function claim({ name, batchSize = 1 }: TaskKind): Promise<Task[]> {
  const at = now();
  const bindings = { kind: name, limit: batchSize, lease: randomUUID(), now: at, until: addMilliseconds(at, LEASE_MS) };
  return runStatement<Task>(CLAIM_TASKS, bindings);
}

/** A lease that is lost has no effect on the run, whose end is not recorded. */
const withLeases = createLeaseHeartbeat<Task>({
  intervalMs: RENEW_MS,
  renew: (tasks) => runStatement(RENEW_LEASES, { ...toHeldBindings(tasks), until: addMilliseconds(now(), LEASE_MS) }),
});

/** Returns the parameters of {@link HELD}. */
const toHeldBindings = (tasks: readonly Task[]) => ({
  ids: tasks.map(({ id }) => id),
  leases: tasks.map(({ lease }) => lease),
});

const isFilled = (tasks: Task[]): tasks is [Task, ...Task[]] => tasks.length > 0;

/**
 * Runs claimed tasks and records the outcome. @returns false if a run has failed. @throws if that cannot be recorded.
 */
async function runClaimed(kind: TaskKind, tasks: readonly [Task, ...Task[]]): Promise<boolean> {
  const startedAt = performance.now();
  let outcome: 'done' | 'postponed' | 'failed' | 'given_up';
  try {
    const postponement = await kind.run(tasks);
    outcome = postponement === undefined ? 'done' : 'postponed';
    if (postponement === undefined) await Promise.all(tasks.map(completeTask));
    else await Promise.all(tasks.map((task) => postponeTask(kind, task, postponement)));
  } catch (err) {
    if (tasks.length > 1) {
      logger.warn({ err, kind: kind.name, tasks: tasks.length }, 'batch of tasks failed; running them one by one');
      return runOneByOne(kind, tasks);
    }
    outcome = await recordFailure(kind, tasks[0], err);
  }
  taskDuration.observe({ kind: kind.name, outcome }, (performance.now() - startedAt) / 1_000);
  return outcome === 'done' || outcome === 'postponed';
}

async function runOneByOne(kind: TaskKind, tasks: readonly Task[]): Promise<boolean> {
  let isDone = true;
  for (const task of tasks) isDone = (await runClaimed(kind, [task])) && isDone;
  return isDone;
}

async function postponeTask(kind: TaskKind, task: Task, { runAt, reason }: Postponement): Promise<void> {
  await writeEnd(task, { runAt, attempts: 0, reason: reason ?? null });
  if (reason !== undefined) logger.info({ ...describe(kind, task), reason }, 'task postponed');
}

async function recordFailure(kind: TaskKind, task: Task, err: unknown): Promise<'failed' | 'given_up'> {
  const attempts = task.attempts + 1;
  const fields = { err, ...describe(kind, task), attempts };
  const reason = err instanceof Error ? err.message : String(err);
  if (kind.isGivenUp?.(task, err) === true) {
    await writeEnd(task, { runAt: null, attempts, reason });
    logger.error(fields, 'task given up');
    return 'given_up';
  }
  logger.warn(fields, 'task failed; it will be repeated');
  await writeEnd(task, { runAt: addMilliseconds(now(), getBackoffMs(task.attempts, kind.backoff)), attempts, reason });
  return 'failed';
}

function describe({ name: kind }: TaskKind, { key, accountId }: Task) {
  return { kind, key: describeKey({ kind, key }), accountId };
}

/** Does nothing if the lease was lost: the task was scheduled again, or another worker runs it. */
async function writeEnd(
  { id, lease }: Task,
  { runAt, attempts, reason }: { runAt: Date | null; attempts: number; reason: string | null },
): Promise<void> {
  await runStatement(POSTPONE_TASK, { id, lease, runAt, attempts, reason: reason?.slice(0, ERROR_MAX_LENGTH) ?? null });
}

/** A run whose completion is lost is repeated when its lease has ended. */
const completeTask = createBatcher<Task, void>({
  maxItems: 512,
  maxInFlight: 2,
  isItemError: isRejection,
  run: async (tasks) => {
    await runStatement(COMPLETE_TASKS, toHeldBindings(tasks));
    return [];
  },
});
