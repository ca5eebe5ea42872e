import type { VNode } from 'preact';
import { describeKey, type ListedTask } from '../../../../../shared/domain/tasks/listTasks.ts';
import type { Context } from '../../../../context.ts';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import { formatCount } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { getTaskPath } from '../actions/taskActions.tsx';

interface TaskTableProps {
  ctx: Context;
  label: string;
  tasks: readonly ListedTask[];
  /** True on the page of their account. */
  isOfOneAccount?: boolean;
  empty?: string;
}

/** Tasks with their last error. Those that fail or were given up can be run. */
export function TaskTable({ ctx, label, tasks, isOfOneAccount = false, empty }: TaskTableProps): VNode {
  const mayRun = mayUse(ctx, 'manageQueues');
  return (
    <Table
      class="report"
      label={label}
      columns={['Task', 'Last error', 'Next run (UTC)', 'Action']}
      empty={empty}
      rows={tasks.map((task) => [
        <>
          {task.kind}
          <div class="quiet small">{describeKey(task)}</div>
          {isOfOneAccount ? null : <AccountLink task={task} />}
        </>,
        <div class="long">
          {task.last_error ?? ''}
          {task.attempts === 0 ? null : <div class="quiet small">{formatCount(task.attempts, 'failed attempt')}</div>}
        </div>,
        <>
          <NextRun task={task} />
          <div class="quiet small">
            created <Time at={task.created_at} />
          </div>
        </>,
        mayRun && task.attempts > 0 && !task.is_running ? (
          <a
            class="button slight"
            href={`${getTaskPath(task)}run/`}
            aria-label={`Run ${task.kind} ${describeKey(task)} now`}
          >
            Run now
          </a>
        ) : (
          ''
        ),
      ])}
    />
  );
}

function AccountLink({ task: { account_uuid: uuid, account_email: email } }: { task: ListedTask }): VNode | null {
  if (uuid === null) return null;
  return (
    <div class="small">
      <a href={getAccountPath({ uuid })}>{email}</a>
    </div>
  );
}

function NextRun({ task: { run_at: runAt, is_running: isRunning } }: { task: ListedTask }): VNode {
  if (runAt === null) return <span class="tag off">given up</span>;
  return isRunning ? (
    <span class="tag">running</span>
  ) : (
    <>
      <Time at={runAt} />
    </>
  );
}
