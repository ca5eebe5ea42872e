import type { VNode } from 'preact';
import type { AppliedPlan } from '../../../../../shared/domain/billing/planHistory.ts';
import type { AccountOverview } from '../../../../../shared/domain/staff/accountOverview.ts';
import { getPlanBySlug } from '../../../../../shared/lib/catalog/catalog.ts';
import type { StaffPermission } from '../../../../../shared/spec/staff.ts';
import type { Context } from '../../../../context.ts';
import { formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDateTime } from '../../../../web/components/formatTime.ts';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { Facts, Section } from '../../../../web/components/section.tsx';
import { Parts } from '../sections.tsx';

/** Input of the sections of the account page. */
export interface SectionProps {
  overview: AccountOverview;
  ctx: Context;
}

function formatDeletion(deletion: NonNullable<AccountOverview['deletion']>): string {
  const { requestedAt, eraseAt, canUndo } = deletion;
  const requested = `requested ${formatDateTime(requestedAt)}`;
  return canUndo ? `${requested}, can be undone until ${formatDateTime(eraseAt)}` : `${requested}, being erased`;
}

/** The balance, its buckets and the current period. */
export function CreditsSection({ overview: { account }, ctx }: SectionProps): VNode {
  const { period_start: start, period_end: end } = account;
  const actions =
    account.erased_at === null ? (
      <Actions ctx={ctx} path={getAccountPath(account)} actions={[['adjust/', 'Adjust credits', 'adjustCredits']]} />
    ) : null;
  return (
    <Section id="credits" title="Credits" actions={actions}>
      <Facts
        facts={[
          ['Balance', formatNumber(account.balance)],
          ['Plan credits', formatNumber(account.plan_credits)],
          ['Top-up credits', formatNumber(account.topup_credits)],
          ['Period', start === null || end === null ? 'none' : `${formatDateTime(start)} to ${formatDateTime(end)}`],
          [
            'In the period',
            `${formatNumber(account.period_granted)} granted, ${formatNumber(account.period_rollover)} carried over, ${formatNumber(account.period_used)} used`,
          ],
          ['In progress', `${account.in_flight} of ${account.parallel_limit}`],
        ]}
      />
    </Section>
  );
}

/** The subscription, automatic top-ups, and which plans were paid for. */
export function PlanSection({ overview: { account, plan, subscriptions, planHistory } }: SectionProps): VNode {
  const subscriptionTable = (
    <Table
      label="Subscriptions"
      columns={['Subscription', 'Plan', 'Status', 'Started', 'Paid until', 'Last sync', 'Pending action']}
      rows={subscriptions.map((subscription) => [
        subscription.stripe_subscription_id ?? 'simulated',
        subscription.plan_slug,
        subscription.status,
        <Time at={subscription.started_at} />,
        <Time at={subscription.paid_until} />,
        subscription.synced_at === null ? 'never' : <Time at={subscription.synced_at} />,
        subscription.status === 'canceled' ? '' : subscription.follow_up,
      ])}
    />
  );
  const historyTable = (
    <Table
      label="Plan history"
      columns={['From', 'Until', 'Time', 'Plan', 'Credits a month', 'Price', 'Invoice', 'Returned']}
      numeric={['Credits a month']}
      rows={planHistory.map((applied) => [
        <Time at={applied.from} />,
        <Time at={applied.until} />,
        <TimelineBar applied={applied} history={planHistory} />,
        applied.paid.plan_slug,
        formatNumber(getPlanBySlug(applied.paid.plan_slug).monthlyCredits),
        applied.paid.price_id ?? 'simulated',
        applied.paid.stripe_invoice_id ?? 'none',
        applied.paid.returned_at === null ? '' : <Time at={applied.paid.returned_at} />,
      ])}
    />
  );
  return (
    <Section id="plan" title="Plan">
      <Facts
        facts={[
          ['Plan', plan.plan?.name ?? 'none'],
          ['Status', plan.status],
          ['Period ends', plan.currentPeriodEnd === null ? 'never' : <Time at={plan.currentPeriodEnd} />],
          ['Renews', plan.plan === null || plan.cancelAtPeriodEnd ? 'no' : 'yes'],
          ['Payment method', account.has_payment_method ? 'on file' : 'none'],
          [
            'Automatic top-ups',
            account.auto_topup_enabled
              ? `${formatUsd(account.auto_topup_amount_cents)} below ${formatNumber(account.auto_topup_threshold_credits)} credits`
              : `off${account.auto_topup_problem === null ? '' : `: ${account.auto_topup_problem}`}`,
          ],
        ]}
      />
      <Parts
        parts={[
          {
            id: 'subscriptions',
            title: 'Subscriptions',
            isEmpty: subscriptions.length === 0,
            content: subscriptionTable,
          },
          { id: 'plan-history', title: 'Plan history', isEmpty: planHistory.length === 0, content: historyTable },
        ]}
      />
    </Section>
  );
}

/** Facts about the owner, and the identifiers of the account in other systems. */
export function ProfileSection({ overview: { account, deletion } }: SectionProps): VNode {
  return (
    <Section id="profile" title="Profile">
      <Facts
        facts={[
          ['UUID', <code>{account.uuid}</code>],
          ['Number', account.id],
          ['First name', account.first_name || 'none'],
          ['Language', account.language],
          ['Use case', account.use_case || 'none'],
          ['Signed up', `${formatDateTime(account.created_at)} through ${account.social_provider}`],
          ['Onboarding', account.onboarding_step],
          ['Customer', account.stripe_customer_id ?? 'none'],
          account.suspended_at === null ? null : ['Suspended', `since ${formatDateTime(account.suspended_at)}`],
          deletion === null ? null : ['Deletion', formatDeletion(deletion)],
        ]}
      />
    </Section>
  );
}

/** Draws when a plan applied within the time of the whole history. */
function TimelineBar({ applied, history }: { applied: AppliedPlan; history: AppliedPlan[] }): VNode {
  const start = Math.min(...history.map(({ from }) => from.getTime()));
  const end = Math.max(...history.map(({ until }) => until.getTime()));
  const toPercent = (time: Date) => (100 * (time.getTime() - start)) / Math.max(1, end - start);
  const [from, until] = [toPercent(applied.from), toPercent(applied.until)];
  return (
    <svg class="timeline" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="span" x="0" y="0" width="100" height="8" rx="2" />
      <rect class="applied" x={from} y="0" width={Math.max(1, until - from)} height="8" rx="2" />
    </svg>
  );
}

type Action = readonly [path: string, label: string, permission: StaffPermission];

/** Links to the forms of the actions that the role may perform. */
export function Actions(props: { ctx: Context; path: string; actions: readonly Action[] }): VNode | null {
  const { ctx, path, actions } = props;
  const allowed = actions.filter(([, , permission]) => mayUse(ctx, permission));
  if (allowed.length === 0) return null;
  return (
    <div class="buttons">
      {allowed.map(([action, label]) => (
        <a class="button slight" href={`${path}${action}`}>
          {label}
        </a>
      ))}
    </div>
  );
}
