import { MONTH_PLAN, MONTH_START } from '../credits/periods.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/**
 * Monthly credits of a subscription: each month is granted once and on time, and the remainder expires or rolls over.
 */

/** Start of the n-th month of a subscription. Months are always counted from its start. */
const getMonthStartSql = (month: string) => `${MONTH_START.installedName}(s.started_at, cast(${month} AS integer))`;

/**
 * Entries of months, by effect key: `{grant|rollover|expiry}:{subscription}:{month}` for a renewal, with `:{number}`
 * for a correction of the month's grant, and `:lapsed:{number}` for what would have expired before the correction.
 */
const periodEntriesSql = (ledger: string, more = '') => `
  SELECT account_id, number, entry_type, amount, created_at, split_part(effect_key, ':', 2) AS subscription,
         cast(substring(effect_key from '^[a-z]+:[^:]+:([0-9]{1,6})') AS int) AS month,
         substring(effect_key from '^[a-z]+:[^:]+:[0-9]+:(.+)$') AS correction ${more}
    FROM ${ledger} AS l WHERE effect_key ~ '^(grant|rollover|expiry):'`;

const PERIOD_ENTRIES = periodEntriesSql('ledger_entries');

/** The same entries with the plan credits after each. */
const PERIOD_ENTRIES_WITH_BALANCE = periodEntriesSql(
  '(SELECT *, sum(plan_amount) OVER (PARTITION BY account_id ORDER BY number) AS plan FROM ledger_entries)',
  ', plan',
);

/** Sum of the grants of each month, less what was taken back of them. */
const GRANTED_MONTHS = `
  SELECT account_id, subscription, month, sum(amount) AS granted, count(*) FILTER (WHERE correction IS NULL) AS grants,
         max(number) FILTER (WHERE correction IS NULL) AS number, min(created_at) AS granted_at
    FROM (${PERIOD_ENTRIES}) named
   WHERE entry_type = 'grant' OR (entry_type = 'expiry' AND correction ~ '^[0-9]+$') GROUP BY 1, 2, 3`;

export const CREDIT_PERIOD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'grants-belong-to-the-subscriber',
    statement: 'The ledger entries of a subscription are on its account.',
    checkedWhen: 'always',
    query: `
      SELECT e.account_id, 'ledger entry ' || e.number AS subject,
             format('%s of subscription %s of %s', e.entry_type, e.subscription, coalesce('account ' || s.account_id, 'no account')) AS detail
        FROM (${PERIOD_ENTRIES}) e LEFT JOIN subscriptions s ON s.uuid::text = e.subscription
       WHERE s.account_id IS DISTINCT FROM e.account_id`,
  },
  {
    name: 'one-grant-a-month',
    statement:
      'An activated subscription was granted each month from the first to the last granted one once; others were granted none.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, 'subscription ' || s.uuid AS subject,
             format('activated %s; %s grants for %s months, last month %s', coalesce(s.activated_at::text, 'never'),
                    coalesce(m.grants, 0), coalesce(m.months, 0), coalesce(m.last::text, 'none')) AS detail
        FROM subscriptions s
        LEFT JOIN (SELECT subscription, sum(grants) AS grants, count(*) AS months, max(month) AS last
                     FROM (${GRANTED_MONTHS}) months GROUP BY 1) m ON m.subscription = s.uuid::text
       WHERE CASE WHEN s.activated_at IS NULL THEN m.grants > 0
                  ELSE (m.months, m.grants) IS DISTINCT FROM (m.last + 1, m.months) OR m.months IS NULL END`,
  },
  {
    name: 'a-month-grants-its-plan',
    statement:
      'A month grants the credits of the plan that applied at its start by the plan history, or of a larger one that was paid in it; more only if a payment was returned whose credits are spent.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, format('month %s of subscription %s', m.month, s.uuid) AS subject,
             format('granted %s; the plan history grants %s', m.granted, coalesce(plan.credits::text, 'nothing')) AS detail
        FROM subscriptions s JOIN (${GRANTED_MONTHS}) m ON m.subscription = s.uuid::text
        LEFT JOIN LATERAL ${MONTH_PLAN.installedName}(s.id, s.started_at, cast(m.month AS integer)) plan ON true
       WHERE s.status = 'active' AND m.granted IS DISTINCT FROM plan.credits
         AND NOT (coalesce(m.granted >= plan.credits, true)
                  AND EXISTS (SELECT FROM subscription_plans p WHERE p.subscription_id = s.id AND p.returned_at IS NOT NULL))`,
  },
  {
    name: 'grants-are-due-and-paid',
    statement: 'No month is granted before it starts or beyond the paid time.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, format('month %s of subscription %s', m.month, s.uuid) AS subject,
             format('granted %s, starts %s, paid until %s', m.granted_at, ${getMonthStartSql('m.month')}, s.paid_until) AS detail
        FROM (${GRANTED_MONTHS}) m JOIN subscriptions s ON s.uuid::text = m.subscription
       WHERE m.month > 0 AND (m.granted_at < ${getMonthStartSql('m.month')} - ${CLOCK_SKEW_INTERVAL} OR ${getMonthStartSql('m.month')} >= s.paid_until)`,
  },
  {
    name: 'no-grant-is-missing',
    statement: 'An active subscription was granted every month that has started and is paid for.',
    checkedWhen: 'when drained',
    query: `
      SELECT s.account_id, format('month %s of subscription %s', due.month, s.uuid) AS subject,
             format('started %s, paid until %s, not granted', ${getMonthStartSql('due.month')}, s.paid_until) AS detail
        FROM subscriptions s
        JOIN accounts a ON a.id = s.account_id AND a.subscription_id = s.id
       CROSS JOIN LATERAL generate_series(0, greatest(0, 1 + 12 * cast(extract(year FROM age(least($1, s.paid_until), s.started_at)) AS int)
                                                           + cast(extract(month FROM age(least($1, s.paid_until), s.started_at)) AS int))) AS due (month)
        LEFT JOIN (${GRANTED_MONTHS}) m ON m.subscription = s.uuid::text AND m.month = due.month
       WHERE s.status = 'active' AND m.month IS NULL
         AND (due.month = 0 OR (${getMonthStartSql('due.month')} <= $1 AND ${getMonthStartSql('due.month')} < s.paid_until))`,
  },
  {
    // Compares with the ledger where it can, since clocks of processes differ. The first month of a year is left out:
    // it may have been paid later than it started.
    name: 'due-grants-precede-automatic-topups',
    statement: 'No automatic top-up starts between the start of a paid month and the grant of that month.',
    checkedWhen: 'always',
    query: `
      SELECT t.account_id, 'top-up ' || t.uuid AS subject,
             format('started %s, in month %s of subscription %s, which was granted afterwards, at %s', t.created_at, m.month,
                    s.uuid, m.granted_at) AS detail
        FROM (${GRANTED_MONTHS}) m
        JOIN subscriptions s ON s.uuid::text = m.subscription
        JOIN topups t ON t.account_id = s.account_id AND t.kind = 'automatic' AND t.created_at >= ${getMonthStartSql('m.month')}
        LEFT JOIN ledger_entries e ON e.account_id = t.account_id AND e.effect_key = 'topup:' || t.uuid
       WHERE m.month % 12 > 0
         AND CASE WHEN e.number IS NULL THEN t.created_at < m.granted_at - ${CLOCK_SKEW_INTERVAL} ELSE e.number < m.number END`,
  },
  {
    name: 'expiry-takes-all',
    statement: 'No plan credits are left after they expire at the end of a month or of a subscription.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'ledger entry ' || number AS subject, format('%s plan credits are left after it', plan) AS detail
        FROM (${PERIOD_ENTRIES_WITH_BALANCE}) e WHERE entry_type = 'expiry' AND correction IS NULL AND plan <> 0`,
  },
  {
    name: 'periods-renew-atomically',
    statement:
      'A renewal posts consecutive entries: all plan credits expire, at most the last grant of them rolls over, and the next month is granted.',
    checkedWhen: 'always',
    query: `
      WITH entry AS MATERIALIZED (${PERIOD_ENTRIES_WITH_BALANCE}), renewal AS (
        SELECT account_id, subscription, month,
               max(number) FILTER (WHERE entry_type = 'grant') AS granted_as,
               max(plan) FILTER (WHERE entry_type = 'grant') AS plan_after,
               sum(amount) FILTER (WHERE entry_type = 'grant') AS granted,
               min(number) FILTER (WHERE entry_type <> 'grant') AS first, count(*) FILTER (WHERE entry_type <> 'grant') AS others,
               coalesce(-sum(amount) FILTER (WHERE entry_type = 'expiry'), 0) AS expired,
               coalesce(sum(amount) FILTER (WHERE entry_type = 'rollover'), 0) AS carried
          FROM entry WHERE month IS NOT NULL AND correction IS NULL GROUP BY 1, 2, 3
      )
      SELECT t.account_id, format('month %s of subscription %s', t.month, t.subscription) AS subject,
             format('%s expired, %s rolled over, %s granted for the month before, %s for this one, %s plan credits afterwards; entries %s to %s',
                    t.expired, t.carried, coalesce(before.granted, 0), coalesce(t.granted, 0), coalesce(t.plan_after::text, 'unknown'),
                    coalesce(t.first::text, 'none'), coalesce(t.granted_as::text, 'none')) AS detail
        FROM renewal t
        LEFT JOIN LATERAL (SELECT sum(amount) AS granted FROM entry
                            WHERE subscription = t.subscription AND month = t.month - 1 AND number < t.granted_as
                              AND (entry_type = 'grant' OR (entry_type = 'expiry' AND correction ~ '^[0-9]+$'))) before ON true
       WHERE t.granted_as IS NULL
          OR (t.month = 0 AND t.others > 0)
          OR (t.month > 0 AND (t.carried <> least(t.expired, coalesce(before.granted, 0))
                               OR t.plan_after <> t.carried + t.granted
                               OR t.first IS DISTINCT FROM CASE WHEN t.others > 0 THEN t.granted_as - t.others END))`,
  },
  {
    name: 'accounts-are-in-their-latest-period',
    statement:
      'The credit period of an account with a subscription is the last granted month, with its start, end, grant and rollover.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'month ' || a.period_index AS subject,
             format('%s to %s, granted %s, rollover %s; the ledger has month %s, %s to %s, granted %s, rollover %s',
                    coalesce(a.period_start::text, 'never'), coalesce(a.period_end::text, 'never'), a.period_granted,
                    a.period_rollover, coalesce(m.month::text, 'none'), coalesce((${getMonthStartSql('m.month')})::text, 'never'),
                    coalesce((${getMonthStartSql('m.month + 1')})::text, 'never'), coalesce(m.granted, 0), coalesce(r.amount, 0)) AS detail
        FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id
        LEFT JOIN (SELECT DISTINCT ON (subscription) * FROM (${GRANTED_MONTHS}) months ORDER BY subscription, month DESC) m
               ON m.subscription = s.uuid::text
        LEFT JOIN (SELECT subscription, month, sum(amount) AS amount FROM (${PERIOD_ENTRIES}) e WHERE entry_type = 'rollover' GROUP BY 1, 2) r
               ON r.subscription = m.subscription AND r.month = m.month
       WHERE (a.period_index, a.period_start, a.period_end, a.period_granted, a.period_rollover)
               IS DISTINCT FROM (m.month, ${getMonthStartSql('m.month')}, ${getMonthStartSql('m.month + 1')}, m.granted, coalesce(r.amount, 0))`,
  },
];
