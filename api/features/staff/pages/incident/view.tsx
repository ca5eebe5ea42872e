import type { ComponentChildren, VNode } from 'preact';
import { getModelName } from '../../../../../shared/domain/reports/labels.ts';
import {
  type AffectedCustomer,
  GENERATIONS_READ_MAX,
  type Incident,
  isInTrouble,
  type OpenRefund,
  readIncident,
  type UpstreamState,
} from '../../../../../shared/domain/staff/incident.ts';
import type { HealthState } from '../../../../../shared/domain/upstreams/healthState.ts';
import { now } from '../../../../../shared/lib/clock.ts';
import type { StaffPermission } from '../../../../../shared/spec/staff.ts';
import type { Context } from '../../../../context.ts';
import { mayUse, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { formatCount, formatNumber } from '../../../../web/components/formatAmount.ts';
import { formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { Icon } from '../../../../web/components/icon.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { getGenerationPath } from '../actions/generationActions.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { TASKS_PATH } from '../actions/taskActions.tsx';
import { QUEUE_BOARD_PATH } from '../queueBoard.ts';
import { formatAge, formatFigure } from '../reports/format.ts';
import { REPORTS_PATH } from '../reports/navigation.tsx';
import { INCIDENT_PATH, RunbookLink } from '../runbook.tsx';
import { Section } from '../../../../web/components/section.tsx';

/** Shows what fails now, whom it affects, and what waits, on one page: the first one to open when something fails. */
export async function showIncident(ctx: Context): Promise<void> {
  const incident = await readIncident();
  const failing = incident.upstreams.filter(isInTrouble);
  const children = (
    <>
      <p class="quiet">
        Generations that ended in the last 15 minutes, among the newest {formatNumber(GENERATIONS_READ_MAX)}. As of{' '}
        <Time at={now()} hasSeconds /> UTC; reload for the current state.
      </p>
      <Verdict failing={failing} incident={incident} />
      <Section
        id="upstreams"
        title="Models and upstreams"
        actions={
          <Links
            ctx={ctx}
            links={[
              [`${REPORTS_PATH}failures/`, 'Failed generations', 'viewReports'],
              [`${REPORTS_PATH}upstreams/`, 'Upstream health', 'viewReports'],
            ]}
          />
        }
      >
        <UpstreamTable upstreams={failing.length === 0 ? incident.upstreams : failing} />
      </Section>
      <Section id="customers" title="Customers affected">
        <CustomerTable customers={incident.customers} />
      </Section>
      <Section
        id="queues"
        title="Queues and backlog"
        actions={<Links ctx={ctx} links={[[QUEUE_BOARD_PATH, 'Queue board', 'manageQueues']]} />}
      >
        <BacklogTable ctx={ctx} incident={incident} />
      </Section>
      {incident.refunds.length === 0 ? null : (
        <Section id="refunds" title="Refunds that are not issued">
          <RefundTable refunds={incident.refunds} />
        </Section>
      )}
    </>
  );
  await sendStaffConsolePage(ctx, { current: INCIDENT_PATH, heading: 'Incident', children });
}

function Verdict({ failing, incident }: { failing: UpstreamState[]; incident: Incident }): VNode {
  const failed = failing.reduce((sum, state) => sum + state.failed, 0);
  const isBad = failing.length > 0 || incident.queues === null;
  const sentences = [
    failing.length === 0 ? 'No model or upstream fails.' : `${formatCount(failing.length, 'upstream')} in trouble.`,
    failed === 0 ? '' : `${formatCount(failed, 'generation')} failed and were refunded.`,
    incident.queues === null ? 'Redis is unavailable, so the queues are unknown.' : '',
  ];
  return (
    <div class={isBad ? 'notice bad' : 'notice good'}>
      <Icon name={isBad ? 'warning' : 'good'} />
      <p>
        {sentences.join(' ')} {incident.queues === null ? <RunbookLink alert="GenmeterRedisDown" /> : null}
      </p>
    </div>
  );
}

function UpstreamTable({ upstreams }: { upstreams: UpstreamState[] }): VNode {
  return (
    <Table
      class="report"
      label="Models and upstreams"
      columns={['Upstream', 'State', 'Failed', 'Since (UTC)', 'Last error', 'Runbook']}
      empty="No upstream has been checked yet."
      rows={upstreams.map((state) => [
        <>
          {state.upstream === '' ? 'Not submitted' : state.upstream}
          <div class="quiet small">
            {getModelName(state.model)}
            {state.health === null || state.health.position === 0 ? '' : `, fallback ${state.health.position}`}
          </div>
        </>,
        <State state={state} />,
        state.ended === 0 ? (
          'none ended'
        ) : (
          <>
            {formatNumber(Math.round((100 * state.failed) / state.ended))} %
            <div class="quiet small">
              {formatNumber(state.failed)} of {formatNumber(state.ended)}
              {state.customers === 0 ? null : <div>{formatCount(state.customers, 'customer')}</div>}
            </div>
          </>
        ),
        <Since state={state} />,
        <LastError state={state} />,
        <RunbookLink alert={chooseRunbook(state)} />,
      ])}
    />
  );
}

function State({ state }: { state: UpstreamState }): VNode | null {
  if (state.health === null && state.upstream === '') return null;
  if (state.health === null) return <span class="tag off">not a choice</span>;
  return <HealthTags state={state} />;
}

/** The health of a choice of a model. */
export function HealthTags({ state: { health, isStale, isCircuitOpen } }: { state: HealthState }): VNode {
  if (health === null) return <span class="tag off">not checked</span>;
  const status = isStale ? 'not checked' : health.status;
  return (
    <>
      <span class={status === 'online' ? 'tag' : 'tag warn'}>{status}</span>{' '}
      {isCircuitOpen ? <span class="tag warn">circuit open</span> : null}
    </>
  );
}

/** Start of the failures. Without a success in the last minutes, that was before them. */
function Since({ state }: { state: UpstreamState }): VNode | null {
  const { failing_since: since, succeeded_at: succeeded, succeeded_hour: hour } = state;
  if (since === null) return null;
  return (
    <>
      <Time at={since} />
      {succeeded === null ? (
        <div class="quiet small">
          {hour === null ? (
            'no success in a week'
          ) : (
            <>
              last success from <Time at={hour} />
            </>
          )}
        </div>
      ) : null}
    </>
  );
}

/** Last error that customers received, with an example, and the error of the last health check. */
function LastError({ state: { health, reason, example_uuid: example } }: { state: UpstreamState }): VNode {
  const isChecked = health !== null && health.detail !== '' && health.status !== 'online';
  return (
    <div class="long">
      {reason === null || example === null ? null : <a href={getGenerationPath({ uuid: example })}>{reason}</a>}
      {isChecked ? <div class="quiet small">Health check: {health.detail}</div> : null}
    </div>
  );
}

function chooseRunbook({ health, isStale, isCircuitOpen, failed }: UpstreamState): string {
  if (isStale) return 'GenmeterBacklogNotMeasured';
  if (isCircuitOpen || health?.status === 'offline') return 'GenmeterModelOffline';
  return failed > 0 ? 'GenmeterGenerationsFailing' : 'GenmeterUpstreamErrors';
}

function CustomerTable({ customers }: { customers: AffectedCustomer[] }): VNode {
  return (
    <Table
      label="Customers affected"
      columns={['Customer', 'Failed', 'Ended', 'Last failure', 'Timeline']}
      numeric={['Failed', 'Ended']}
      empty="No generation of a customer failed."
      rows={customers.map((customer) => [
        <a href={getAccountPath(customer)}>{customer.email}</a>,
        formatNumber(customer.failed),
        formatNumber(customer.ended),
        formatRelativeTime(customer.failed_at),
        <a
          href={`${getAccountPath(customer)}timeline/?kind=generations`}
          aria-label={`Generations of ${customer.email}`}
        >
          Generations
        </a>,
      ])}
    />
  );
}

interface Waiting {
  label: string;
  /** Its runbook, if it has an alert. */
  alert?: string;
  /** Page on which to act. */
  link?: [path: string, label: string, permission: StaffPermission];
}

const SOURCES: Record<Incident['backlog'][number]['source'] | Incident['trouble'][number]['source'], Waiting> = {
  generations: { label: 'Generations in progress', alert: 'GenmeterGenerationsOverdue' },
  webhook_endpoints: { label: 'Webhook endpoints with due deliveries', alert: 'GenmeterWebhooksOverdue' },
  commits: { label: 'Commits that wait for a standby', alert: 'GenmeterSyncRepWaiting' },
  owed_refunds: { label: 'Refunds owed', link: ['#refunds', 'Refunds', 'viewAccounts'] },
  rejected_refunds: {
    label: 'Refunds rejected',
    link: ['#refunds', 'Refunds', 'viewAccounts'],
  },
  failing_webhooks: { label: 'Failing webhook endpoints', alert: 'GenmeterWebhooksFailing' },
  failing_tasks: {
    label: 'Tasks that fail',
    alert: 'GenmeterTasksFailing',
    link: [TASKS_PATH, 'Tasks', 'viewAccounts'],
  },
  given_up_tasks: {
    label: 'Tasks given up',
    alert: 'GenmeterTaskGivenUp',
    link: [TASKS_PATH, 'Tasks', 'viewAccounts'],
  },
};

/** Rows and jobs that wait, with the age of the oldest. */
function BacklogTable({ ctx, incident }: { ctx: Context; incident: Incident }): VNode {
  const { backlog, trouble, overdueTasks, queues } = incident;
  const sums = [...backlog, ...trouble].filter(({ rows }) => rows > 0);
  const busy = (queues ?? []).filter(({ counts, isPaused }) => counts.waiting > 0 || counts.failed > 0 || isPaused);
  const rows: ComponentChildren[][] = [
    ...sums.map(({ source, rows: count, oldest }) => {
      const { label, alert, link } = SOURCES[source];
      return [
        label,
        formatNumber(count),
        formatAge(oldest),
        link === undefined ? '' : <Links ctx={ctx} links={[link]} />,
        alert === undefined ? '' : <RunbookLink alert={alert} />,
      ];
    }),
    ...overdueTasks.map(({ kind, due, oldest }) => [
      `Tasks ${kind} that are due`,
      formatNumber(due),
      formatAge(oldest),
      <Links ctx={ctx} links={[[`${TASKS_PATH}?kind=${kind}`, 'Tasks', 'viewAccounts']]} />,
      <RunbookLink alert="GenmeterTasksOverdue" />,
    ]),
    ...busy.map(({ queue, counts, oldestSeconds, isPaused }) => [
      <>
        Queue {queue} {isPaused ? <span class="tag warn">paused</span> : null}
        {counts.failed === 0 ? null : <div class="quiet small">{formatCount(counts.failed, 'failed job')} stored</div>}
      </>,
      formatNumber(counts.waiting),
      counts.waiting === 0 ? '' : formatFigure(Math.round(oldestSeconds), 'seconds'),
      <Links ctx={ctx} links={[[`${QUEUE_BOARD_PATH}/queue/${queue}`, 'Jobs', 'manageQueues']]} />,
      <RunbookLink alert="GenmeterQueueJobsWaiting" />,
    ]),
  ];
  return (
    <Table
      label="Queues and backlog"
      columns={['What waits', 'Number', 'Oldest', 'Act', 'Runbook']}
      numeric={['Number', 'Oldest']}
      empty="Nothing waits."
      rows={rows}
    />
  );
}

function RefundTable({ refunds }: { refunds: OpenRefund[] }): VNode {
  return (
    <Table
      label="Refunds that are not issued"
      columns={['Customer', 'Refund', 'Status', 'Last error', 'Since (UTC)']}
      rows={refunds.map((refund) => [
        <a href={`${getAccountPath(refund)}#payments`}>{refund.email}</a>,
        refund.of,
        refund.status,
        refund.last_error ?? '',
        <Time at={refund.created_at} />,
      ])}
    />
  );
}

/** Links that the role may follow. */
function Links({ ctx, links }: { ctx: Context; links: [path: string, label: string, permission: StaffPermission][] }) {
  return (
    <span class="tags">
      {links
        .filter(([, , permission]) => mayUse(ctx, permission))
        .map(([path, label]) => (
          <a href={path}>{label}</a>
        ))}
    </span>
  );
}
