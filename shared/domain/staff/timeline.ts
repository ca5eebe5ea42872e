import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { buildFilterBindings, buildFilteredPage, type CreatedRange, type FilteredRow } from '../../lib/listFilter.ts';
import type { ListPage } from '../../lib/pagination.ts';
import { KNOWN_REASONS, OTHER_REASON } from '../generations/failureReasons.ts';

/** Kinds of entries of the timeline of an account. */
export const TIMELINE_KINDS = ['payments', 'plan', 'credits', 'generations', 'security', 'staff'] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

/** Contents of the entries of each source. Neither prompts nor outputs, nor messages that may quote them. */
export interface TimelineFacts {
  entry: {
    entry_type: string;
    amount: number;
    balance_after: number;
    description: string;
    generation_uuid: string | null;
    model: string | null;
    status: string | null;
    reason: string | null;
  };
  topup: { kind: string; status: string; amount_cents: number; credits: number; failure_code: string | null };
  invoice: { description: string; status: string; total_cents: number; currency: string };
  refund: { of: string; status: string; last_error: string | null };
  plan: { plan_slug: string; applies_until: string };
  /** A subscription whose payment fails since then, and one that has ended. */
  failing: { plan_slug: string };
  ended: { plan_slug: string };
  security: { event: string; details: Record<string, string | number>; user_agent: string };
  audit: { action: string; reason: string; actor: string };
}

/** An entry of the timeline: where it comes from, when it happened, and what it shows. */
export type TimelineItem = {
  [Source in keyof TimelineFacts]: {
    number: number;
    kind: TimelineKind;
    source: Source;
    at: Date;
    facts: TimelineFacts[Source];
  };
}[keyof TimelineFacts];

interface Source {
  source: keyof TimelineFacts;
  kind: TimelineKind;
  /** Table with the condition that finds the rows of the account. */
  from: string;
  /** Time of an entry. With the condition it is a range of an index, unless an account has few of these rows. */
  at: string;
  /** Number or uuid by which the shown entries are read. */
  key: string;
}

/** Entries of the ledger of one type: a range of the index `ledger_entries_filter_idx`. */
const ledgerSource = (kind: TimelineKind, type: string): Source => ({
  source: 'entry',
  kind,
  from: `ledger_entries WHERE account_id = :accountId AND entry_type = '${type}'`,
  at: 'created_at',
  key: 'number',
});

/**
 * Generations are found by their entries of the ledger: the burn when they were created, and the refund when they
 * failed. The index of generations is not ordered by time.
 */
const SOURCES: readonly Source[] = [
  ...['burn', 'refund'].map((type) => ledgerSource('generations', type)),
  ...['grant', 'topup', 'rollover', 'expiry'].map((type) => ledgerSource('credits', type)),
  {
    source: 'topup',
    kind: 'payments',
    from: 'topups WHERE account_id = :accountId',
    at: 'created_at',
    key: 'uuid',
  },
  {
    source: 'invoice',
    kind: 'payments',
    from: `invoices WHERE account_id = :accountId AND kind = 'subscription'`,
    at: 'created_at',
    key: 'uuid',
  },
  {
    source: 'refund',
    kind: 'payments',
    from: 'owed_refunds WHERE account_id = :accountId',
    at: 'created_at',
    key: 'key',
  },
  {
    source: 'plan',
    kind: 'plan',
    from: 'subscription_plans p JOIN subscriptions s ON s.id = p.subscription_id WHERE s.account_id = :accountId',
    at: 'p.applies_from',
    key: 'p.id',
  },
  {
    source: 'failing',
    kind: 'payments',
    from: 'subscriptions WHERE account_id = :accountId AND past_due_since IS NOT NULL',
    at: 'past_due_since',
    key: 'id',
  },
  {
    source: 'ended',
    kind: 'plan',
    from: 'subscriptions WHERE account_id = :accountId AND ended_at IS NOT NULL',
    at: 'ended_at',
    key: 'id',
  },
  {
    source: 'security',
    kind: 'security',
    from: 'security_events WHERE account_id = :accountId',
    at: 'created_at',
    key: 'id',
  },
  {
    source: 'audit',
    kind: 'staff',
    from: 'audit_entries WHERE account_id = :accountId',
    at: 'created_at',
    key: 'number',
  },
];

/** Newest entries of a source, read only if its kind is wanted. */
const buildRange = ({ source, kind, from, at, key }: Source) => `
     (SELECT '${source}' AS source, '${kind}' AS kind, ${at} AS at, cast(${key} AS text) AS key
        FROM ${from} AND '${kind}' = ANY (cast(:kinds AS text[]))
         AND ${at} >= cast(:after AS timestamptz) AND ${at} < cast(:before AS timestamptz)
       ORDER BY ${at} DESC, ${key} DESC LIMIT :max)`;

/** Works as the statement of the filtered ledger does (`credits/listFilteredLedger.ts`), over several tables. */
export const LIST_TIMELINE = prepared(
  'list_account_timeline',
  `WITH matching AS MATERIALIZED (
     SELECT * FROM (${SOURCES.map(buildRange).join('\n      UNION ALL')}
     ) ranges
      ORDER BY at DESC, source, length(key) DESC, key DESC LIMIT :max
   ), shown AS MATERIALIZED (
     SELECT row_number() OVER (ORDER BY at DESC, source, length(key) DESC, key DESC) AS number, source, kind, at, key
       FROM matching
      ORDER BY number OFFSET :skip LIMIT :limit
   )
   SELECT cast(total.matches AS int) AS matches, cast(number AS int) AS number, kind, source, at,
          CASE source
            WHEN 'entry' THEN (
              SELECT json_build_object('entry_type', e.entry_type, 'amount', e.amount, 'balance_after', e.balance_after,
                       'description', e.description, 'generation_uuid', g.uuid, 'model', g.model, 'status', g.status,
                       'reason', CASE WHEN g.error_message = '' OR g.error_message = ANY (cast(:knownReasons AS text[])) THEN g.error_message
                                      WHEN g.error_message IS NOT NULL THEN cast(:otherReason AS text) END)
                FROM ledger_entries e
                LEFT JOIN generations g
                  ON g.uuid = e.generation_uuid AND g.account_id = e.account_id AND g.deleted_at IS NULL
               WHERE e.account_id = :accountId AND e.number = cast(key AS bigint))
            WHEN 'topup' THEN (
              SELECT json_build_object('kind', t.kind, 'status', status, 'amount_cents', amount_cents, 'credits', credits,
                       'failure_code', failure_code) FROM topups t WHERE uuid = cast(key AS uuid))
            WHEN 'invoice' THEN (
              SELECT json_build_object('description', description, 'status', status, 'total_cents', total_cents,
                       'currency', currency) FROM invoices WHERE uuid = cast(key AS uuid))
            WHEN 'refund' THEN (
              SELECT json_build_object('of', r.payment, 'status', r.status, 'last_error', r.last_error)
                FROM owed_refunds r WHERE r.key = shown.key)
            WHEN 'plan' THEN (
              SELECT json_build_object('plan_slug', plan_slug, 'applies_until', applies_until)
                FROM subscription_plans WHERE id = cast(key AS bigint))
            WHEN 'failing' THEN (
              SELECT json_build_object('plan_slug', plan_slug) FROM subscriptions WHERE id = cast(key AS bigint))
            WHEN 'ended' THEN (
              SELECT json_build_object('plan_slug', plan_slug) FROM subscriptions WHERE id = cast(key AS bigint))
            WHEN 'security' THEN (
              SELECT json_build_object('event', event, 'details', details, 'user_agent', user_agent)
                FROM security_events WHERE id = cast(key AS bigint))
            WHEN 'audit' THEN (
              SELECT json_build_object('action', action, 'reason', reason, 'actor', coalesce(a.email, command_user, ''))
                FROM audit_entries e LEFT JOIN accounts a ON a.id = e.actor_account_id
               WHERE e.number = cast(key AS bigint))
          END AS facts
     FROM (SELECT count(*) AS matches FROM matching) total LEFT JOIN shown ON true
    ORDER BY number`,
);

/**
 * Lists what happened to an account, newest first. Of more than `FILTERED_ITEMS_MAX` matches, that number and one are
 * counted, and the newest are shown.
 * @throws ServiceError validation_error for a page after those.
 */
export async function listTimeline(
  accountId: number,
  kinds: readonly TimelineKind[],
  range: CreatedRange,
  page: number,
): Promise<ListPage<TimelineItem>> {
  const rows = await runStatement<FilteredRow<TimelineItem>>(LIST_TIMELINE, {
    accountId,
    kinds,
    knownReasons: KNOWN_REASONS,
    otherReason: OTHER_REASON,
    ...buildFilterBindings(range, page),
  });
  return buildFilteredPage<TimelineItem>(page, rows);
}
