import type { VNode } from 'preact';
import { type AccountState, describeAccountState } from '../../../../../shared/domain/staff/accountState.ts';
import { isStaffEmail } from '../../../../../shared/lib/staffEmails.ts';
import type { AppliedPlan } from '../../../../../shared/domain/billing/planHistory.ts';
import type { AccountOverview } from '../../../../../shared/domain/staff/accountOverview.ts';
import { getPlanBySlug } from '../../../../../shared/lib/catalog/catalog.ts';
import type { StaffPermission } from '../../../../../shared/spec/staff.ts';
import type { Context } from '../../../../context.ts';
import { formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDateTime, formatShortDateTime } from '../../../../web/components/formatTime.ts';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Facts, Section } from '../sections.tsx';

/** Input of the sections of the account page. */
export interface SectionProps {
  overview: AccountOverview;
  ctx: Context;
}

const TAG_CLASSES: Record<AccountState['state'], string> = {
  erased: 'tag off',
  'deletion requested': 'tag warn',
  suspended: 'tag warn',
  active: 'tag',
};

function formatDeletion(deletion: AccountOverview['deletion']): string {
  if (deletion === null) return 'not requested';
  const { requestedAt, eraseAt, canUndo } = deletion;
  const requested = `requested ${formatDateTime(requestedAt)}`;
  return canUndo ? `${requested}, can be undone until ${formatDateTime(eraseAt)}` : `${requested}, being erased`;
}

/** State, profile, credits and plan of the account, with the actions on it. */
export function ProfileSections({ overview, ctx }: SectionProps): VNode {
  const { account, deletion, issues } = overview;
  const { state, since } = describeAccountState(account);
  return (
    <>
      {issues.length === 0 ? null : (
        <Section id="problems" title="Problems">
          <ul class="plain">
            {issues.map((issue) => (
              <li>{issue}</li>
            ))}
          </ul>
        </Section>
      )}
      <Section id="profile" title="Profile">
        <p>
          <span class={TAG_CLASSES[state]}>{since === null ? state : `${state} since ${formatDateTime(since)}`}</span>{' '}
          {isStaffEmail(account.email) ? <span class="tag off">staff</span> : null}
        </p>
        <Facts
          facts={[
            ['UUID', <code>{account.uuid}</code>],
            ['Number', account.id],
            ['Suspended', account.suspended_at === null ? 'no' : `since ${formatDateTime(account.suspended_at)}`],
            ['Deletion', formatDeletion(deletion)],
            ['First name', account.first_name || 'none'],
            ['Language', account.language],
            ['Use case', account.use_case || 'none'],
            ['Signed up', `${formatDateTime(account.created_at)} through ${account.social_provider}`],
            ['Onboarding', account.onboarding_step],
            ['Customer', account.stripe_customer_id ?? 'none'],
          ]}
        />
        {account.erased_at === null ? (
          <Actions
            ctx={ctx}
            path={getAccountPath(account)}
            actions={[
              account.suspended_at === null
                ? ['suspend/', 'Suspend', 'suspendAccounts']
                : ['reinstate/', 'Reinstate', 'suspendAccounts'],
              ['sign-out/', 'Sign out everywhere', 'revokeAccess'],
              ['revoke-access/', 'Revoke all access', 'revokeAccess'],
            ]}
          />
        ) : null}
      </Section>
      <CreditsSection overview={overview} ctx={ctx} />
      <PlanSection overview={overview} ctx={ctx} />
    </>
  );
}

function CreditsSection({ overview: { account }, ctx }: SectionProps): VNode {
  const { period_start: start, period_end: end } = account;
  return (
    <Section id="credits" title="Credits">
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
      {account.erased_at === null ? (
        <Actions ctx={ctx} path={getAccountPath(account)} actions={[['adjust/', 'Adjust credits', 'adjustCredits']]} />
      ) : null}
    </Section>
  );
}

function PlanSection({ overview: { account, plan, subscriptions, planHistory } }: SectionProps): VNode {
  return (
    <Section id="plan" title="Plan">
      <Facts
        facts={[
          ['Plan', plan.plan?.name ?? 'none'],
          ['Status', plan.status],
          ['Period ends', plan.currentPeriodEnd === null ? 'never' : formatDateTime(plan.currentPeriodEnd)],
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
      <div class="apart">
        <Table
          label="Subscriptions"
          columns={['Subscription', 'Plan', 'Status', 'Started', 'Paid until', 'Last sync', 'Pending action']}
          empty="No subscriptions."
          rows={subscriptions.map((subscription) => [
            subscription.stripe_subscription_id ?? 'simulated',
            subscription.plan_slug,
            subscription.status,
            formatShortDateTime(subscription.started_at),
            formatShortDateTime(subscription.paid_until),
            subscription.synced_at === null ? 'never' : formatShortDateTime(subscription.synced_at),
            subscription.follow_up_next_attempt_at === null ? '' : subscription.follow_up,
          ])}
        />
      </div>
      <h3 id="plan-history">Plan history</h3>
      <Table
        label="Plan history"
        columns={['From', 'Until', 'Time', 'Plan', 'Credits a month', 'Price', 'Invoice', 'Returned']}
        numeric={['Credits a month']}
        empty="No plan was paid for."
        rows={planHistory.map((applied) => [
          formatShortDateTime(applied.from),
          formatShortDateTime(applied.until),
          <TimelineBar applied={applied} history={planHistory} />,
          applied.paid.plan_slug,
          formatNumber(getPlanBySlug(applied.paid.plan_slug).monthlyCredits),
          applied.paid.price_id ?? 'simulated',
          applied.paid.stripe_invoice_id ?? 'none',
          applied.paid.returned_at === null ? '' : formatShortDateTime(applied.paid.returned_at),
        ])}
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
    <div class="buttons apart">
      {allowed.map(([action, label]) => (
        <a class="button slight" href={`${path}${action}`}>
          {label}
        </a>
      ))}
    </div>
  );
}
