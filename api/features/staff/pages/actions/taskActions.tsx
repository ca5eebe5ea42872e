import { findTaskForStaff, runTaskNow, runTasksNow } from '../../../../../shared/domain/staff/taskActions.ts';
import { ALL_TASK_KINDS } from '../../../../../shared/domain/privacy/taskKinds.ts';
import { describeKey, type ListedTask } from '../../../../../shared/domain/tasks/listTasks.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { UNCHANGED } from './accountActions.tsx';
import { defineAction } from './defineAction.tsx';

export const TASKS_PATH = '/admin/tasks/' as const;
const AREA = { current: TASKS_PATH, returnTo: 'the tasks' };

/** Returns the path of the actions on a task. */
export const getTaskPath = ({ id }: Pick<ListedTask, 'id'>): string => `${TASKS_PATH}${id}/`;

/** Finds a kind of tasks by its name. @throws ServiceError not_found */
export function findTaskKind(name: string) {
  const kind = ALL_TASK_KINDS.find((other) => other.name === name);
  if (kind !== undefined) return kind;
  throw new ServiceError('not_found', `Not found. The kinds of tasks are listed at ${TASKS_PATH}.`);
}

const CONSEQUENCES = (
  <p>
    It begins by reading what it is about, and does nothing that was done before. If it fails again, it is repeated or
    given up as before. A task that a worker runs now is left alone.
  </p>
);

export const runTask = defineAction({
  area: AREA,
  parameter: 'id',
  find: (id) => findTaskForStaff(/^\d{1,15}$/.test(id) ? Number(id) : 0),
  describe: (task) => ({
    question: `Run ${task.kind} ${describeKey(task)} now?`,
    consequences: CONSEQUENCES,
    button: 'Run now',
    isHarmless: true,
    closed: task.attempts > 0 ? undefined : 'This task does not fail. It runs when it is due.',
    returnPath: TASKS_PATH,
  }),
  perform: async (task, { actor }) => ((await runTaskNow(task, actor)) ? 'run' : UNCHANGED),
});

export const runTasks = defineAction({
  area: AREA,
  parameter: 'kind',
  find: findTaskKind,
  describe: ({ name }) => ({
    question: `Run all tasks of the kind ${name} that fail or were given up?`,
    consequences: CONSEQUENCES,
    button: 'Run all now',
    isHarmless: true,
    returnPath: TASKS_PATH,
  }),
  perform: async ({ name }, { actor }) => ((await runTasksNow(name, actor)) > 0 ? 'run-all' : UNCHANGED),
});
