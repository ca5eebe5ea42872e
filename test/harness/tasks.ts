import { SEND_EMAIL } from '../../shared/domain/emails/sendEmails.ts';
import { DELETE_ACCOUNT } from '../../shared/domain/privacy/deletionSweep.ts';
import { startTasks } from '../../shared/domain/tasks/runTasks.ts';
import type { TaskKind } from '../../shared/domain/tasks/taskKind.ts';
import { DELETE_UPLOAD_FILES } from '../../shared/domain/uploads/uploads.ts';
import { DISPATCH_EVENTS } from '../../shared/domain/webhooks/dispatchEvents.ts';
import { waitForInFlight } from '../../shared/lib/drain.ts';
import { runJob } from './jobs.ts';
import { eventually, type TestService } from './testService.ts';

/** Runs the tasks of kinds that are due in the process of the test, until none is due or each run has failed. */
export async function runTasks(...kinds: TaskKind[]): Promise<void> {
  for (const kind of kinds) startTasks(kind);
  await waitForInFlight();
}

export const dispatchEvents = () => runTasks(DISPATCH_EVENTS);
export const sendEmails = () => runTasks(SEND_EMAIL);
export const runAccountDeletions = () => runTasks(DELETE_ACCOUNT);
export const deleteDueUploadFiles = () => runTasks(DELETE_UPLOAD_FILES);

/** Makes the tasks of kinds due that were not given up; one that runs runs again. */
export async function makeTasksDue(service: TestService, ...kinds: string[]): Promise<void> {
  await service.sql('UPDATE tasks SET run_at = $1, lease = NULL WHERE kind = ANY ($2) AND run_at IS NOT NULL', [
    service.now,
    kinds,
  ]);
}

/** Has the workers of a service run the tasks that are due, and waits until none is due and none runs. */
export async function runDueTasks(service: TestService): Promise<void> {
  await runJob({ service }, 'tasks', 'tasks.sweep');
  await eventually(
    'no task is due',
    async () => {
      const due = await service.sql('SELECT 1 FROM tasks WHERE lease IS NOT NULL OR run_at <= $1', [service.now]);
      return due.length === 0;
    },
    60_000,
  );
}

/** Makes the tasks of kinds due, and has the workers of a service run them. */
export async function runTasksNow(service: TestService, ...kinds: string[]): Promise<void> {
  await makeTasksDue(service, ...kinds);
  await runDueTasks(service);
}

/** Reads the tasks of a kind, oldest first. */
export const readTasks = (service: TestService, kind: string): Promise<any[]> =>
  service.sql('SELECT * FROM tasks WHERE kind = $1 ORDER BY id', [kind]);
