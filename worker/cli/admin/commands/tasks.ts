import { runTaskNow, runTasksNow } from '../../../../shared/domain/staff/taskActions.ts';
import { ALL_TASK_KINDS } from '../../../../shared/domain/privacy/taskKinds.ts';
import {
  countTasks,
  describeKey,
  findTaskByKey,
  listTroubledTasks,
} from '../../../../shared/domain/tasks/listTasks.ts';
import type { TaskKind } from '../../../../shared/domain/tasks/taskKind.ts';
import { closeQueues, openQueues } from '../../../../shared/queues/enqueue.ts';
import { type CommandContext, formatTime, parseIntegerOption, printTable, UsageError } from '../command.ts';
import { getSystemActor, parseReason } from '../systemActor.ts';

const LIMIT_MAX = 1_000;

export async function listTasks({ args: [name], options, print }: CommandContext): Promise<void> {
  const kinds = name === undefined ? ALL_TASK_KINDS : [parseKind(name)];
  const limit = parseIntegerOption(options['limit'] ?? '50', '--limit', 1, LIMIT_MAX);
  const tasks = await listTroubledTasks(kinds, limit);
  if (tasks.length === 0) {
    print('No task fails, and none was given up.');
    return;
  }
  const rows = tasks.map((task) => [
    task.kind,
    describeKey(task),
    task.account_id === null ? '-' : String(task.account_id),
    String(task.attempts),
    task.run_at === null ? 'given up' : task.is_running ? 'running' : formatTime(task.run_at),
    formatTime(task.created_at),
    task.last_error ?? '-',
  ]);
  const headings = ['kind', 'key', 'account', 'attempts', 'next run', 'created', 'last error'];
  printTable(print, headings, rows);
  if (tasks.length === limit) print(`There may be more: the list is limited to ${limit}.`);
}

export async function runTasks({ args, options, shouldApply, print }: CommandContext): Promise<void> {
  const [name = '', key] = args;
  const kind = parseKind(name);
  const count = shouldApply ? await apply(kind, key, parseReason(options)) : await countTroubled(kind, key);
  const tasks = `${count} ${count === 1 ? 'task' : 'tasks'} of the kind ${kind.name}`;
  print(`${tasks} ${shouldApply ? 'will run now' : 'to run; those that a worker runs are left alone'}.`);
}

async function apply(kind: TaskKind, key: string | undefined, reason: string): Promise<number> {
  const actor = getSystemActor(reason);
  await openQueues();
  try {
    if (key === undefined) return await runTasksNow(kind.name, actor);
    const task = await findTaskByKey(kind, key);
    return task !== undefined && (await runTaskNow(task, actor)) ? 1 : 0;
  } finally {
    await closeQueues();
  }
}

async function countTroubled(kind: TaskKind, key: string | undefined): Promise<number> {
  if (key === undefined) return (await countTasks([kind])).reduce((sum, one) => sum + one.failing + one.given_up, 0);
  const task = await findTaskByKey(kind, key);
  return task !== undefined && task.attempts > 0 ? 1 : 0;
}

/** @throws UsageError */
function parseKind(name: string): TaskKind {
  const kind = ALL_TASK_KINDS.find((other) => other.name === name);
  if (kind !== undefined) return kind;
  throw new UsageError(`The kind must be one of ${ALL_TASK_KINDS.map((other) => other.name).join(', ')}.`);
}
