import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/**
 * Generations of the window of each limit that is in force: what they cost, less refunds, when the last one was
 * charged, and whether the generation that opened the window, of any key, is from an earlier one. Those that follow may
 * be: they began before the window and were charged in it. So may the first one after a limit was set in a window
 * without generations.
 */
const WINDOWS = `
  SELECT l.account_id, l.number, coalesce(sum(g.credits_charged) FILTER (WHERE g.status <> 'failed' AND g.refunded_at IS NULL), 0) AS credits,
         max(g.created_at) AS charged_at,
         coalesce(bool_or(first.created_at < l.window_start - ${CLOCK_SKEW_INTERVAL} AND l.updated_at < l.window_start), false) AS starts_early
    FROM spending_limits l
    LEFT JOIN generations first ON first.account_id = l.account_id AND first.number = l.generation_count_at_window_start + 1
    LEFT JOIN generations g ON g.account_id = l.account_id AND g.number > l.generation_count_at_window_start
          AND (g.api_key_number = l.key_number OR g.oauth_client_id = l.client_id OR g.member_number = l.member_number)
   WHERE l.credits IS NOT NULL
   GROUP BY l.account_id, l.number`;

/** Spending limits of API keys and applications. */
export const SPENDING_LIMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'spending-limits-match-generations',
    statement:
      'The use of a spending limit equals the cost of the generations that its key, application or member was charged for in the window, less refunds.',
    checkedWhen: 'always',
    query: `
      SELECT l.account_id, 'spending limit ' || l.number AS subject,
             format('%s since %s: used %s; the generations after number %s cost %s, and the first is from %s window', l.period,
                    coalesce(l.window_start::text, 'the start'), l.used, l.generation_count_at_window_start, w.credits,
                    CASE WHEN w.starts_early THEN 'an earlier' ELSE 'this' END) AS detail
        FROM spending_limits l JOIN (${WINDOWS}) w USING (account_id, number)
       WHERE l.used <> w.credits OR w.starts_early`,
  },
  {
    name: 'spending-limits-are-kept',
    statement:
      'No key, application or member has spent more than its limit in a window, unless the limit was lowered since.',
    checkedWhen: 'always',
    query: `
      SELECT l.account_id, 'spending limit ' || l.number AS subject,
             format('%s credits, %s used; set at %s, last charge at %s', l.credits, w.credits, l.updated_at, w.charged_at) AS detail
        FROM spending_limits l JOIN (${WINDOWS}) w USING (account_id, number)
       WHERE w.credits > l.credits AND w.charged_at > l.updated_at + ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'spending-limits-are-counted',
    statement:
      'The spending limits of an account are numbered from 1 without gaps and counted, and belong to its API keys and members, or to an application.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'spending limits' AS subject,
             format('counted %s; found %s, last number %s, %s without their key or member', a.spending_limit_count, coalesce(l.total, 0),
                    coalesce(l.last, 0), coalesce(l.orphans, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT l.account_id, count(*) AS total, max(l.number) AS last,
                          count(*) FILTER (WHERE l.key_number IS NOT NULL AND k.number IS NULL
                                              OR l.member_number IS NOT NULL AND m.number IS NULL) AS orphans
                     FROM spending_limits l LEFT JOIN api_keys k ON k.account_id = l.account_id AND k.number = l.key_number
                     LEFT JOIN members m ON m.account_id = l.account_id AND m.number = l.member_number
                    GROUP BY 1) l ON l.account_id = a.id
       WHERE (a.spending_limit_count, a.spending_limit_count, 0)
               IS DISTINCT FROM (coalesce(l.total, 0), coalesce(l.last, 0), coalesce(l.orphans, 0))`,
  },
];
