import type { VNode } from 'preact';
import { isCanceledByOwner } from '../../../../../shared/domain/generations/failureReasons.ts';
import type { AccountOverview } from '../../../../../shared/domain/staff/accountOverview.ts';
import { type AccountState, describeAccountState } from '../../../../../shared/domain/staff/accountState.ts';
import type { StaffGeneration } from '../../../../../shared/domain/staff/generations.ts';
import { isStaffEmail } from '../../../../../shared/lib/staffEmails.ts';
import { Fact } from '../../../../web/components/fact.tsx';
import { formatChange, formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDate, formatDateTime, formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { getAccountPath } from '../actions/accountActions.tsx';
import { getGenerationPath } from '../actions/generationActions.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { Actions, type SectionProps } from './profile.tsx';

const TAG_CLASSES: Record<AccountState['state'], string> = {
  erased: 'tag off',
  'deletion requested': 'tag warn',
  suspended: 'tag warn',
  active: 'tag',
};

const FAILURES_SHOWN = 3;

/** The first questions of support on one screen: who it is, whether they pay, what is left, and what failed last. */
export function SummarySection({ overview, ctx, sections }: SectionProps & { sections: [string, string][] }): VNode {
  const { account, ledger } = overview;
  const path = getAccountPath(account);
  const [latest] = ledger;
  const actions =
    account.erased_at === null ? (
      <Actions
        ctx={ctx}
        path={path}
        actions={[
          account.suspended_at === null
            ? ['suspend/', 'Suspend', 'suspendAccounts']
            : ['reinstate/', 'Reinstate', 'suspendAccounts'],
        ]}
      />
    ) : null;
  return (
    <Section id="summary" title="Summary" actions={actions}>
      <p class="tags">
        {listFlags(overview).map(([text, kind]) => (
          <span class={kind}>{text}</span>
        ))}
      </p>
      <div class="facts">
        <Fact title="Plan" value={overview.plan.plan?.name ?? 'No plan'} note={describePlan(overview)} />
        <Fact
          title="Balance"
          value={formatNumber(account.balance)}
          note={
            latest === undefined
              ? 'credits; nothing was posted yet'
              : `credits; ${formatChange(latest.amount)} ${formatRelativeTime(latest.created_at)}`
          }
        />
        <Fact title="In progress" value={`${account.in_flight} of ${account.parallel_limit}`} note="generations" />
        <Fact title="Last payment" {...describePayment(overview)} />
      </div>
      <Recent generations={overview.generations.items} />
      <p class="part">
        <a class="button slight" href={`${path}timeline/`}>
          Timeline
        </a>
      </p>
      <nav class="tabs part" aria-label="On this page">
        <ul>
          {sections.map(([id, title]) => (
            <li>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
        </ul>
      </nav>
    </Section>
  );
}

/** Lists the state of the account, and what is wrong with it. */
function listFlags({ account, plan, subscriptions, issues, events }: AccountOverview): [text: string, kind: string][] {
  const { state, since } = describeAccountState(account);
  const pastDueSince = subscriptions.find(({ status }) => status === 'past_due')?.past_due_since ?? null;
  const isSuspendedToo = state !== 'suspended' && account.suspended_at !== null;
  return [
    [since === null ? state : `${state} since ${formatDateTime(since)}`, TAG_CLASSES[state]],
    ...flag(isSuspendedToo, 'suspended', 'tag warn'),
    ...flag(isStaffEmail(account.email), 'staff', 'tag off'),
    ...flag(account.is_affiliate, 'affiliate', 'tag off'),
    ...flag(
      plan.status === 'past_due',
      `payment failed${pastDueSince === null ? '' : ` since ${formatDate(pastDueSince)}`}`,
      'tag warn',
    ),
    ...flag(account.auto_topup_problem !== null, 'automatic top-ups switched off', 'tag warn'),
    ...flag(issues.length > 0, `${issues.length} ${issues.length === 1 ? 'problem' : 'problems'}`, 'tag warn'),
    ...flag(events.length > 0, 'unprocessed payment events', 'tag warn'),
  ];
}

const flag = (isSet: boolean, text: string, kind: string): [string, string][] => (isSet ? [[text, kind]] : []);

function describePlan({ plan }: AccountOverview): string {
  if (plan.plan === null || plan.currentPeriodEnd === null) return plan.status;
  const end = formatDate(plan.currentPeriodEnd);
  return `${plan.status}, ${plan.cancelAtPeriodEnd ? 'ends' : 'renews'} on ${end}`;
}

/** Describes the latest paid invoice, of a plan or a top-up. */
function describePayment({ invoices }: AccountOverview): { value: string; note: string } {
  const paid = invoices.find(({ status }) => status === 'paid');
  if (paid === undefined) return { value: 'None', note: 'no paid invoice' };
  return { value: formatUsd(paid.total_cents), note: `${paid.description}, ${formatRelativeTime(paid.created_at)}` };
}

/** Last success and last failures among the latest generations. */
function Recent({ generations }: { generations: StaffGeneration[] }): VNode {
  if (generations.length === 0) return <p class="quiet part">No generation yet.</p>;
  const succeeded = generations.filter(({ status }) => status === 'succeeded');
  const failed = generations.filter(
    ({ status, error_reason: reason }) => status === 'failed' && !isCanceledByOwner(reason),
  );
  const [success] = succeeded;
  return (
    <div class="part">
      <p>
        Of the latest {formatNumber(generations.length)} generations, {formatNumber(succeeded.length)} succeeded and{' '}
        {formatNumber(failed.length)} failed.{' '}
        {success === undefined ? null : (
          <>
            Last success: <GenerationTime generation={success} />.
          </>
        )}
      </p>
      {failed.length === 0 ? null : (
        <>
          <p class="quiet">Last failures</p>
          <ul class="plain">
            {failed.slice(0, FAILURES_SHOWN).map((generation) => (
              <li>
                <GenerationTime generation={generation} />: {generation.error_reason}{' '}
                <span class="quiet">{generation.model}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function GenerationTime({ generation }: { generation: StaffGeneration }): VNode {
  const { created_at: createdAt, completed_at: completedAt } = generation;
  return <a href={getGenerationPath(generation)}>{formatRelativeTime(completedAt ?? createdAt)}</a>;
}
