import type { ComponentChildren, VNode } from 'preact';
import type { MetricDay, StaffMetrics } from '../../../shared/domain/metrics/staffMetrics.ts';
import type { OfferedModel } from '../../../shared/domain/modelHealth.ts';
import type { abandonedEvents } from '../../../shared/domain/billing/paymentEvents.ts';
import type { QueueDepth } from '../../../shared/queues/depth.ts';
import type { Context } from '../../context.ts';
import { sendPage } from '../page.tsx';
import { BarChart, Levels } from './chart.tsx';
import { QUEUE_BOARD_PATH } from './queueBoard.ts';

type Abandoned = Awaited<ReturnType<typeof abandonedEvents>>;

interface Shown {
  metrics: StaffMetrics;
  abandoned: Abandoned;
  models: OfferedModel[];
  /** null while Redis is out of reach. */
  queues: QueueDepth[] | null;
}

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const count = (value: number) => numbers.format(value);
const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const money = (cents: number) => dollars.format(cents / 100);

/** What staff see of the whole service, drawn here: no script is needed for it. */
export function sendStaffPage(ctx: Context, { metrics, models, queues, abandoned }: Shown): void {
  const { users, subscriptions, revenue, costs, margins, daily } = metrics;
  const barsOf = (pick: (day: MetricDay) => number) => daily.map((day) => ({ label: day.date, value: pick(day) }));
  const body = (
    <>
      <h1>The service</h1>
      <p class="quiet">
        All sums are of the last 30 days (UTC, today included) unless a card says otherwise; as of{' '}
        {metrics.generatedAt.toISOString().slice(0, 19).replace('T', ' ')} UTC.{' '}
        <a href={QUEUE_BOARD_PATH}>Queues and jobs</a>
      </p>
      <div class="charts">
        <Card title="Signups" figure={count(users.newIn30Days)} note={`${count(users.total)} accounts in all`}>
          <BarChart title="Signups per day" bars={barsOf((day) => day.signups)} format={count} />
        </Card>
        <Card
          title="Subscriptions"
          figure={count(subscriptions.activeTotal)}
          note={`Active now; ${count(subscriptions.cancelAtPeriodEnd)} of them will not be renewed`}
        >
          <Levels
            title="Subscriptions by plan"
            levels={subscriptions.byPlan.map(({ plan, count: value }) => ({ label: plan.name, value }))}
            format={count}
          />
        </Card>
        <Card
          title="Credits used"
          figure={count(daily.reduce((sum, day) => sum + day.creditsUsed, 0))}
          note="less refunds"
        >
          <BarChart title="Credits used per day" bars={barsOf((day) => day.creditsUsed)} format={count} />
        </Card>
        <Card
          title="Revenue"
          figure={money(margins.monthlyRevenueCents)}
          note={`Top-ups, and a month (a twelfth) of the ${money(revenue.runRateYearlyCents)} a year of the active subscriptions`}
        >
          <Levels
            title="Revenue by source"
            levels={[
              { label: 'Subscriptions', value: revenue.effectiveMonthlyCents },
              { label: 'Top-ups', value: revenue.topups30DaysCents },
            ]}
            format={money}
          />
        </Card>
        <Card
          title="Sales"
          figure={money(daily.reduce((sum, day) => sum + day.soldCents, 0))}
          note="New subscriptions, each with its full yearly price, and top-ups; without renewals"
        >
          <BarChart title="Sales per day" bars={barsOf((day) => day.soldCents)} format={money} kind="second" />
        </Card>
        <Card
          title="Provider cost"
          figure={money(costs.provider30DaysCents)}
          note={`${money(costs.perActiveUserMonthlyCents)} per active subscription`}
        >
          <BarChart title="Provider cost per day" bars={barsOf((day) => day.providerCostCents)} format={money} />
        </Card>
        <Card
          title="Gross margin"
          figure={`${count(margins.grossMarginPercent)} %`}
          note="Of the revenue, before commissions and payment fees"
        >
          <Levels
            title="Revenue and provider cost"
            levels={[
              { label: 'Revenue', value: margins.monthlyRevenueCents },
              { label: 'Provider cost', value: margins.monthlyCostCents, isBad: true },
            ]}
            format={money}
          />
        </Card>
        <Models models={models} metrics={metrics} />
        <Queues queues={queues} />
        {abandoned.count > 0 && <AbandonedEvents {...abandoned} />}
      </div>
    </>
  );
  sendPage(ctx, { title: 'The service', body, isWide: true });
}

function Card(props: { title: string; figure: string; note: string; children: ComponentChildren }): VNode {
  return (
    <section class="card">
      <h2>{props.title}</h2>
      <div class="figure">{props.figure}</div>
      <div class="quiet small">{props.note}</div>
      {props.children}
    </section>
  );
}

function AbandonedEvents({ count: total, latest }: Abandoned): VNode {
  return (
    <section class="card">
      <h2>Abandoned payment events</h2>
      <p>
        <span class="tag warn">{count(total)}</span> could not be applied for three days. Fix the problem, then resend
        the event from the Stripe dashboard.
      </p>
      <table>
        <thead>
          <tr>
            <th>Event</th>
            <th>Problem</th>
            <th>Received</th>
          </tr>
        </thead>
        <tbody>
          {latest.map(({ eventId, type, problem, receivedAt }) => (
            <tr key={eventId}>
              <td>
                {type}
                <div class="quiet small">{eventId}</div>
              </td>
              <td>{problem}</td>
              <td>{receivedAt.toISOString().slice(0, 10)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Models({ models, metrics }: Pick<Shown, 'models' | 'metrics'>): VNode {
  return (
    <section class="card">
      <h2>Models</h2>
      <div class="quiet small">
        Generations created in the last 30 days, with their credits less refunds and their cost
      </div>
      <table>
        <thead>
          <tr>
            <th>Model</th>
            <th class="number">Generations</th>
            <th class="number">Credits</th>
            <th class="number">Cost</th>
          </tr>
        </thead>
        <tbody>
          {models.map(({ slug, name, provider, status }) => {
            const made = metrics.byModelIn30Days.find((model) => model.name === name);
            return (
              <tr key={slug}>
                <td>
                  {name} <span class={status === 'online' ? 'tag' : 'tag warn'}>{status}</span>
                  <div class="quiet small">{provider}</div>
                </td>
                <td class="number">{count(made?.generations ?? 0)}</td>
                <td class="number">{count(made?.credits ?? 0)}</td>
                <td class="number">{money(made?.providerCostCents ?? 0)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Queues({ queues }: Pick<Shown, 'queues'>): VNode {
  if (queues === null) {
    return (
      <section class="card">
        <h2>Queues</h2>
        <p>Redis is unavailable, so the queues cannot be counted. The workers find waiting work in the database.</p>
      </section>
    );
  }
  const waiting = queues.reduce((sum, { counts }) => sum + counts.waiting, 0);
  const oldest = Math.max(...queues.map(({ oldestSeconds }) => oldestSeconds));
  const paused = queues.filter(({ isPaused }) => isPaused).map(({ queue }) => queue);
  const failed = queues.reduce((sum, { counts }) => sum + counts.failed, 0);
  return (
    <Card
      title="Queues"
      figure={`${count(waiting)} waiting`}
      note={`Now: the oldest waiting job has been due for ${count(oldest)} s; ${count(failed)} failed queue jobs are kept. The bars are jobs that wait or run.`}
    >
      <Levels
        title={`Jobs in each queue${paused.length === 0 ? '' : `; paused: ${paused.join(', ')}`}`}
        levels={queues.map(({ queue, counts, isPaused }) => ({
          label: queue,
          value: counts.waiting + counts.active,
          badge: isPaused ? 'paused' : undefined,
        }))}
        format={count}
      />
    </Card>
  );
}
