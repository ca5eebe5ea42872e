import type { ComponentChildren, VNode } from 'preact';
import {
  getModelsWithStatus,
  type ModelWithStatus,
} from '../../../../shared/domain/generations/execution/modelHealth.ts';
import { ALL_TASK_KINDS } from '../../../../shared/domain/privacy/taskKinds.ts';
import {
  type DailyMetrics,
  getStaffMetrics,
  type StaffMetrics,
} from '../../../../shared/domain/reports/staffMetrics.ts';
import { listPendingApprovals } from '../../../../shared/domain/staff/approvals.ts';
import { countTasks, type TaskCount } from '../../../../shared/domain/tasks/listTasks.ts';
import { getQueueDepths, type QueueDepth } from '../../../../shared/queues/depth.ts';
import type { Context } from '../../../context.ts';
import { mayUse, sendStaffConsolePage } from '../../../web/components/areaPage.tsx';
import { BarChart, HorizontalBarChart } from '../../../web/components/charts.tsx';
import { Table } from '../../../web/components/table.tsx';
import { Time } from '../../../web/components/time.tsx';
import { ApprovalTable } from './approvalTable.tsx';
import { TASKS_PATH } from './actions/taskActions.tsx';
import { QUEUE_BOARD_PATH } from './queueBoard.ts';

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const formatNumber = (value: number) => numbers.format(value);
const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const formatDollars = (cents: number) => dollars.format(cents / 100);

/** Shows the metrics as charts, and the state of models and queues. The charts are SVG, so it needs no scripts. */
export async function showDashboard(ctx: Context): Promise<void> {
  const [metrics, models, tasks, approvals, queues] = await Promise.all([
    getStaffMetrics(),
    getModelsWithStatus(),
    countTasks(ALL_TASK_KINDS),
    listPendingApprovals(),
    // The page must also work while Redis is unavailable.
    getQueueDepths().catch(() => null),
  ]);
  const { users, subscriptions, revenue, costs, margins, daily } = metrics;
  const toBars = (pick: (day: DailyMetrics) => number) => daily.map((day) => ({ label: day.date, value: pick(day) }));
  const children = (
    <>
      <p class="quiet">
        Totals cover the last 30 days in UTC, including today, unless a card states otherwise. Updated{' '}
        <Time at={metrics.generatedAt} hasSeconds /> UTC.{' '}
        {mayUse(ctx, 'manageQueues') ? <a href={QUEUE_BOARD_PATH}>Queues and jobs</a> : null}
      </p>
      {approvals.length > 0 && (
        <section class="card">
          <h2>Adjustments to approve</h2>
          <ApprovalTable approvals={approvals} ctx={ctx} />
        </section>
      )}
      <div class="charts">
        <MetricCard
          title="Signups"
          figure={formatNumber(users.newIn30Days)}
          note={`${formatNumber(users.total)} accounts in total`}
        >
          <BarChart isLastPartial title="Signups per day" bars={toBars((day) => day.signups)} format={formatNumber} />
        </MetricCard>
        <OnboardingCard {...users} />
        <MetricCard
          title="Subscriptions"
          figure={formatNumber(subscriptions.activeTotal)}
          note={`Active now; ${formatNumber(subscriptions.cancelAtPeriodEnd)} will not renew`}
        >
          <HorizontalBarChart
            title="Subscriptions by plan"
            levels={subscriptions.byPlan.map(({ plan, count: value }) => ({ label: plan.name, value }))}
            format={formatNumber}
          />
        </MetricCard>
        <MetricCard
          title="Credits used"
          figure={formatNumber(daily.reduce((sum, day) => sum + day.creditsUsed, 0))}
          note="Net of refunds"
        >
          <BarChart
            isLastPartial
            title="Credits used per day"
            bars={toBars((day) => day.creditsUsed)}
            format={formatNumber}
          />
        </MetricCard>
        <MetricCard
          title="Revenue"
          figure={formatDollars(margins.monthlyRevenueCents)}
          note={`Top-ups plus one month (a twelfth) of ${formatDollars(revenue.runRateYearlyCents)} yearly subscription revenue`}
        >
          <HorizontalBarChart
            title="Revenue by source"
            levels={[
              { label: 'Subscriptions', value: revenue.effectiveMonthlyCents },
              { label: 'Top-ups', value: revenue.topups30DaysCents },
            ]}
            format={formatDollars}
          />
        </MetricCard>
        <MetricCard
          title="Sales"
          figure={formatDollars(daily.reduce((sum, day) => sum + day.salesCents, 0))}
          note="New subscriptions at their full yearly price, and top-ups; excludes renewals"
        >
          <BarChart
            isLastPartial
            title="Sales per day"
            bars={toBars((day) => day.salesCents)}
            format={formatDollars}
            kind="second"
          />
        </MetricCard>
        <MetricCard
          title="Provider cost"
          figure={formatDollars(costs.provider30DaysCents)}
          note={`${formatDollars(costs.perActiveUserMonthlyCents)} per active subscription`}
        >
          <BarChart
            isLastPartial
            title="Provider cost per day"
            bars={toBars((day) => day.providerCostCents)}
            format={formatDollars}
          />
        </MetricCard>
        <MetricCard
          title="Gross margin"
          figure={`${formatNumber(margins.grossMarginPercent)}%`}
          note="Share of revenue, before commissions and payment fees"
        >
          <HorizontalBarChart
            title="Revenue and provider cost"
            levels={[
              { label: 'Revenue', value: margins.monthlyRevenueCents },
              { label: 'Provider cost', value: margins.monthlyCostCents, isBad: true },
            ]}
            format={formatDollars}
          />
        </MetricCard>
        <ModelsCard models={models} metrics={metrics} />
        <QueuesCard queues={queues} />
        <TasksCard tasks={tasks} />
      </div>
    </>
  );
  await sendStaffConsolePage(ctx, { current: '/admin/', heading: 'Admin dashboard', children });
}

function MetricCard(props: { title: string; figure: string; note: string; children: ComponentChildren }): VNode {
  return (
    <section class="card">
      <h2>{props.title}</h2>
      <div class="figure">{props.figure}</div>
      <div class="quiet small">{props.note}</div>
      {props.children}
    </section>
  );
}

/** Accounts by the step that they have reached, each with those that went further. */
function OnboardingCard({ total, onboarding }: StaffMetrics['users']): VNode {
  const withPlan = onboarding.complete;
  return (
    <MetricCard
      title="Onboarding"
      figure={formatNumber(withPlan)}
      note={`Of ${formatNumber(total)} accounts since the service began completed their profile and started a plan`}
    >
      <HorizontalBarChart
        title="Accounts by onboarding step reached"
        levels={[
          { label: 'Account created', value: total },
          { label: 'Profile completed', value: onboarding.plan + withPlan },
          { label: 'Completed', value: withPlan },
        ]}
        format={formatNumber}
      />
    </MetricCard>
  );
}

/** Tasks that fail or were given up, by kind; nothing if there are none. */
function TasksCard({ tasks }: { tasks: TaskCount[] }): VNode | null {
  const troubled = tasks.filter((count) => count.failing + count.given_up > 0);
  if (troubled.length === 0) return null;
  return (
    <section class="card">
      <h2>Failing tasks</h2>
      <p>
        <a href={TASKS_PATH}>Errors and actions</a>
      </p>
      <Table
        label="Failing tasks by kind"
        columns={['Kind', 'Failing', 'Given up']}
        numeric={['Failing', 'Given up']}
        rows={troubled.map(({ kind, failing, given_up: givenUp }) => [
          kind,
          formatNumber(failing),
          formatNumber(givenUp),
        ])}
      />
    </section>
  );
}

function ModelsCard({ models, metrics }: { models: ModelWithStatus[]; metrics: StaffMetrics }): VNode {
  return (
    <section class="card">
      <h2>Models</h2>
      <div class="quiet small">
        Generations created in the last 30 days, with credits net of refunds and provider cost
      </div>
      <Table
        label="Models with their use"
        columns={['Model', 'Generations', 'Credits', 'Cost']}
        numeric={['Generations', 'Credits', 'Cost']}
        rows={models.map(({ name, provider, status }) => {
          const made = metrics.byModelIn30Days.find((model) => model.name === name);
          return [
            <>
              {name} <span class={status === 'online' ? 'tag' : 'tag warn'}>{status}</span>
              <div class="quiet small">{provider}</div>
            </>,
            formatNumber(made?.generations ?? 0),
            formatNumber(made?.credits ?? 0),
            formatDollars(made?.providerCostCents ?? 0),
          ];
        })}
      />
    </section>
  );
}

function QueuesCard({ queues }: { queues: QueueDepth[] | null }): VNode {
  if (queues === null) {
    return (
      <section class="card">
        <h2>Queues</h2>
        <p>
          Redis is unavailable, so queue depths are unknown. Workers continue with the work that is due in the database.
        </p>
      </section>
    );
  }
  const waiting = queues.reduce((sum, { counts }) => sum + counts.waiting, 0);
  const oldest = Math.max(...queues.map(({ oldestSeconds }) => oldestSeconds));
  const paused = queues.filter(({ isPaused }) => isPaused).map(({ queue }) => queue);
  const failed = queues.reduce((sum, { counts }) => sum + counts.failed, 0);
  return (
    <MetricCard
      title="Queues"
      figure={`${formatNumber(waiting)} waiting`}
      note={`The oldest waiting job has been due for ${formatNumber(oldest)} s; ${formatNumber(failed)} failed jobs (not generations) are stored. The bars show waiting and active jobs.`}
    >
      <HorizontalBarChart
        title={`Jobs by queue${paused.length === 0 ? '' : `; paused: ${paused.join(', ')}`}`}
        levels={queues.map(({ queue, counts, isPaused }) => ({
          label: queue,
          value: counts.waiting + counts.active,
          badge: isPaused ? 'paused' : undefined,
        }))}
        format={formatNumber}
      />
    </MetricCard>
  );
}
