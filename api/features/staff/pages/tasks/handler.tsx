import type { VNode } from 'preact';
import { ALL_TASK_KINDS } from '../../../../../shared/domain/privacy/taskKinds.ts';
import {
  countRunningTasks,
  countTasks,
  listTroubledTasks,
  type TaskCount,
} from '../../../../../shared/domain/tasks/listTasks.ts';
import type { Context } from '../../../../context.ts';
import { mayUse, type Outcomes, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { findTaskKind, TASKS_PATH } from '../actions/taskActions.tsx';
import { formatAge } from '../reports/format.ts';
import { chooseTaskAlert, RunbookLink } from '../runbook.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { TaskTable } from './table.tsx';

const ROWS_SHOWN = 100;

const OUTCOMES = {
  run: 'The task is due now. Reload to see whether it has succeeded: then it is no longer listed.',
  'run-all': 'The tasks are due now. Reload to see which have succeeded: these are no longer listed.',
  unchanged: 'Nothing was changed: it is done, a worker runs it now, or nothing fails.',
} as const satisfies Outcomes;

/** Shows the tasks by kind, and those that fail or were given up, of all kinds or of one. */
export async function showTasks(ctx: Context): Promise<void> {
  const { kind: name } = ctx.query;
  const kind = typeof name === 'string' && name !== '' ? findTaskKind(name) : undefined;
  const [counts, running, troubled] = await Promise.all([
    countTasks(ALL_TASK_KINDS),
    countRunningTasks(),
    listTroubledTasks(kind === undefined ? ALL_TASK_KINDS : [kind], ROWS_SHOWN),
  ]);
  const children = (
    <>
      <p class="quiet">
        Work that follows from a change, such as refunds, messages and deletions of files. A task is repeated until it
        has succeeded, and then deleted. Payment events and invoices are given up after three days.
      </p>
      <Section id="kinds" title="By kind">
        <KindTable ctx={ctx} counts={counts} running={running} />
      </Section>
      <Section
        id="troubled"
        title={kind === undefined ? 'Failing and given up' : `Failing and given up: ${kind.name}`}
        actions={kind === undefined ? null : <a href={TASKS_PATH}>All kinds</a>}
      >
        <TaskTable
          ctx={ctx}
          label="Tasks that fail or were given up"
          tasks={troubled}
          empty="No task fails, and none was given up."
        />
        {troubled.length < ROWS_SHOWN ? null : <p class="apart quiet">The list is limited to {ROWS_SHOWN} tasks.</p>}
      </Section>
    </>
  );
  await sendStaffConsolePage(ctx, { current: TASKS_PATH, heading: 'Tasks', outcomes: OUTCOMES, children });
}

interface KindTableProps {
  ctx: Context;
  counts: readonly TaskCount[];
  running: ReadonlyMap<string, number>;
}

function KindTable({ ctx, counts, running }: KindTableProps): VNode {
  const mayRun = mayUse(ctx, 'manageQueues');
  return (
    <Table
      class="report"
      label="Tasks by kind"
      columns={['Kind', 'Due now', 'Oldest due', 'Running', 'Failing', 'Given up', 'Runbook', 'Action']}
      numeric={['Due now', 'Oldest due', 'Running', 'Failing', 'Given up']}
      hasRowHeadings
      rows={counts.map((count) => {
        const { kind, due, oldest, failing, given_up: givenUp } = count;
        const alert = chooseTaskAlert(count);
        return [
          <a href={`${TASKS_PATH}?kind=${kind}`}>{kind}</a>,
          formatNumber(due),
          formatAge(oldest),
          formatNumber(running.get(kind) ?? 0),
          formatNumber(failing),
          formatNumber(givenUp),
          alert === null ? '' : <RunbookLink alert={alert} />,
          mayRun && failing + givenUp > 0 ? (
            <a class="button slight" href={`${TASKS_PATH}kinds/${kind}/run/`} aria-label={`Run all of ${kind} now`}>
              Run all
            </a>
          ) : (
            ''
          ),
        ];
      })}
    />
  );
}
