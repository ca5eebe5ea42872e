import type { ComponentChildren, VNode } from 'preact';
import Type from 'typebox';
import { findAccountForStaff } from '../../../../../shared/domain/staff/accountOverview.ts';
import {
  listTimeline,
  TIMELINE_KINDS,
  type TimelineItem,
  type TimelineKind,
} from '../../../../../shared/domain/staff/timeline.ts';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { createQueryParser } from '../../../../../shared/lib/validation/queryParser.ts';
import { FILTERED_ITEMS_MAX } from '../../../../../shared/spec/limits.ts';
import type { SecurityEvent } from '../../../../../shared/tables/SecurityEvent.ts';
import type { Context } from '../../../../context.ts';
import {
  CREATED_RANGE,
  type PageFilters,
  parsePage,
  readPageFilters,
  toCreatedRange,
} from '../../../../pipeline/lists.ts';
import { parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { mayUse, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { FilterForm, MatchCount } from '../../../../web/components/filterForm.tsx';
import { formatChange, formatMoney, formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDate } from '../../../../web/components/formatTime.ts';
import { PageLinks } from '../../../../web/components/pageLinks.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { describeEvent } from '../../../signIn/pages/securityLog/describeEvent.ts';
import { ACCOUNTS_PATH } from '../accountSearch.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { getGenerationPath } from '../actions/generationActions.tsx';

const KIND_LABELS: Record<TimelineKind, string> = {
  payments: 'Payments',
  plan: 'Plan',
  credits: 'Credits',
  generations: 'Generations',
  security: 'Security',
  staff: 'Staff',
};

const parseTimelineQuery = createQueryParser(
  Type.Object({
    kind: Type.Optional(Type.Enum([...TIMELINE_KINDS])),
    ...CREATED_RANGE,
  }),
);

/** Actions of staff are part of the audit log. */
const listKinds = (ctx: Context) => TIMELINE_KINDS.filter((kind) => kind !== 'staff' || mayUse(ctx, 'viewAuditLog'));

const withTimelineErrors = showErrorsOn((ctx, flash, status) =>
  sendTimeline(ctx, { parameters: {}, query: '' }, flash, status),
);

/** Shows what happened to an account on one page, newest first. */
export const showAccountTimeline = withTimelineErrors(async (ctx: Context) => {
  await sendTimeline(ctx, readPageFilters(ctx, ['kind']));
});

async function sendTimeline(
  ctx: Context,
  { parameters, query }: PageFilters,
  flash: { problem?: ComponentChildren } = {},
  status = 200,
): Promise<void> {
  const account = await findAccountForStaff(parseUuidParam(ctx));
  const filter = parseTimelineQuery(parameters);
  const kinds = listKinds(ctx);
  const wanted = kinds.filter((kind) => filter.kind === undefined || kind === filter.kind);
  const page = flash.problem === undefined ? parsePage(ctx) : 1;
  const list = await listTimeline(account.id, wanted, toCreatedRange(filter), page);
  const path = `${getAccountPath(account)}timeline/`;
  const children = (
    <>
      <p>
        <a href={getAccountPath(account)}>Back to the account</a>
      </p>
      <FilterForm
        path={path}
        choices={[
          { name: 'kind', label: 'Kind', options: Object.fromEntries(kinds.map((kind) => [kind, KIND_LABELS[kind]])) },
        ]}
        parameters={ctx.query}
      />
      <MatchCount list={list} />
      <section class="card" aria-label="Timeline">
        <TimelineTable items={list.items} />
      </section>
      <PageLinks
        list={{ ...list, totalItems: Math.min(list.totalItems, FILTERED_ITEMS_MAX) }}
        path={path}
        query={query}
      />
    </>
  );
  const heading = `Timeline of ${account.email}`;
  await sendStaffConsolePage(ctx, { current: ACCOUNTS_PATH, heading, ...flash, children }, status);
}

function TimelineTable({ items }: { items: readonly TimelineItem[] }): VNode {
  return (
    <Table
      label="Timeline"
      columns={['Time (UTC)', 'Kind', 'Event']}
      empty="Nothing matches. Payments, credits, generations and changes of access appear here."
      rows={items.map((item) => [<Time at={item.at} />, KIND_LABELS[item.kind], <Event item={item} />])}
    />
  );
}

function Event({ item }: { item: TimelineItem }): VNode {
  const [event, note, path] = describe(item);
  return (
    <>
      {path === undefined ? event : <a href={path}>{event}</a>}
      {note === '' ? null : <div class="quiet small">{note}</div>}
    </>
  );
}

type Description = [event: string, note: string, path?: string | undefined];

function describe(item: TimelineItem): Description {
  switch (item.source) {
    case 'entry':
      return describeEntry(item.facts);
    case 'topup': {
      const { kind, status, amount_cents: cents, credits, failure_code: failure } = item.facts;
      const name = kind === 'automatic' ? 'Automatic top-up' : 'Top-up';
      const note = `${formatNumber(credits)} credits${failure === null ? '' : `; ${failure}`}`;
      return [`${name} of ${formatUsd(cents)}: ${status}`, note];
    }
    case 'invoice': {
      const { description, status, total_cents: cents, currency } = item.facts;
      return [`Invoice of ${formatMoney(cents, currency)}: ${status}`, description];
    }
    case 'refund':
      return [`Refund of ${item.facts.of}: ${item.facts.status}`, item.facts.last_error ?? ''];
    case 'failing':
      return ['Payment of the subscription failed', `Plan ${item.facts.plan_slug}`];
    case 'plan': {
      const { plan_slug: plan, applies_until: until } = item.facts;
      return [`Plan ${plan} paid for`, `Until ${formatDate(new Date(until))}`];
    }
    case 'ended':
      return ['Subscription ended', `Plan ${item.facts.plan_slug}`];
    case 'security':
      return [describeEvent(item.facts as SecurityEvent), describeAgent(item.facts.user_agent)];
    case 'audit':
      return [item.facts.action, `${item.facts.actor}: ${item.facts.reason}`];
  }
}

type EntryFacts = Extract<TimelineItem, { source: 'entry' }>['facts'];

/** A generation that its owner has deleted has no page. */
function describeEntry(entry: EntryFacts): Description {
  const { amount, balance_after: balance, description, generation_uuid: uuid, status, reason } = entry;
  const change = `${formatChange(amount)}, balance ${formatNumber(balance)}`;
  if (uuid === null) return [description, change];
  const outcome = entry.entry_type === 'burn' ? `; now ${status}` : reason === null ? '' : `; ${reason}`;
  return [description, `${change}${outcome}`, getGenerationPath({ uuid })];
}

const describeAgent = (agent: string) => (agent === '' ? '' : describeBrowser(agent));
