import { FAILURE_MESSAGES } from '../../gateways/upstreams/index.ts';
import { UNCONFIRMED_SUBMITS_MAX } from '../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';
import { DELETION_BLOCK } from './delete.ts';

/** Generations: their charges and refunds, the slots that they occupy, and their results. */

/** Ledger entries of each generation: one burn, and one refund exactly if it failed or staff refunded it. */
const GENERATION_ENTRIES = `
  SELECT generation_uuid, min(account_id) AS account_id,
         count(*) FILTER (WHERE entry_type = 'burn') AS burns, count(*) FILTER (WHERE entry_type = 'refund') AS refunds,
         count(*) FILTER (WHERE entry_type NOT IN ('burn', 'refund')) AS others,
         sum(-amount) FILTER (WHERE entry_type = 'burn') AS burned, sum(-plan_amount) FILTER (WHERE entry_type = 'burn') AS plan_burned,
         sum(amount) FILTER (WHERE entry_type = 'refund') AS refunded, sum(plan_amount) FILTER (WHERE entry_type = 'refund') AS plan_refunded,
         count(DISTINCT account_id) AS accounts
    FROM ledger_entries WHERE generation_uuid IS NOT NULL GROUP BY generation_uuid`;

/**
 * The largest number of generations that an account can have in progress. A downgrade or the end of a plan lowers the
 * limit and leaves running generations alone, so earlier limits count, too. They are derived from the subscriptions and
 * the monthly grants.
 */
const MAX_PARALLEL_LIMITS = `
  SELECT a.id, greatest(a.parallel_limit, max(plan.parallel_limit)) AS most
    FROM accounts a
    LEFT JOIN (SELECT account_id, plan_slug, NULL::bigint AS credits FROM subscriptions
                UNION ALL
               SELECT account_id, NULL, sum(amount) FROM ledger_entries
                WHERE entry_type = 'grant' AND effect_key LIKE 'grant:%'
                GROUP BY account_id, split_part(effect_key, ':', 2), split_part(effect_key, ':', 3)) had ON had.account_id = a.id
    LEFT JOIN catalog_plans plan ON plan.slug = had.plan_slug OR plan.monthly_credits = had.credits
   WHERE a.in_flight > a.parallel_limit
   GROUP BY a.id, a.parallel_limit`;

export const GENERATION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-burn-a-generation',
    statement:
      'Each generation of a live account has one burn on its account, of its cost and from the buckets that it records.',
    checkedWhen: 'always',
    query: `
      SELECT g.account_id, 'generation ' || g.uuid AS subject,
             format('cost %s (plan %s); %s burns of %s (plan %s) on account %s', g.credits_charged, g.plan_credits_charged,
                    coalesce(p.burns, 0), coalesce(p.burned, 0), coalesce(p.plan_burned, 0),
                    coalesce(p.account_id::text, 'none')) AS detail
        FROM generations g LEFT JOIN (${GENERATION_ENTRIES}) p ON p.generation_uuid = g.uuid
       WHERE NOT g.is_test AND (1, g.credits_charged, g.plan_credits_charged, g.account_id, 1)
               IS DISTINCT FROM (p.burns, p.burned, p.plan_burned, p.account_id, p.accounts)`,
  },
  {
    name: 'one-refund-a-failure',
    statement:
      'A generation of a live account was refunded exactly if it failed or staff refunded it after it had succeeded: once, in full, into the buckets that paid.',
    checkedWhen: 'always',
    query: `
      SELECT g.account_id, 'generation ' || g.uuid AS subject,
             format('%s, refunded by staff %s, cost %s (plan %s); %s refunds of %s (plan %s)', g.status,
                    coalesce(g.refunded_at::text, 'never'), g.credits_charged, g.plan_credits_charged,
                    coalesce(p.refunds, 0), coalesce(p.refunded, 0), coalesce(p.plan_refunded, 0)) AS detail
        FROM generations g LEFT JOIN (${GENERATION_ENTRIES}) p ON p.generation_uuid = g.uuid
       WHERE NOT g.is_test AND CASE WHEN g.status = 'failed' OR g.refunded_at IS NOT NULL
                  THEN (1, g.credits_charged, g.plan_credits_charged) IS DISTINCT FROM (p.refunds, p.refunded, p.plan_refunded)
                  ELSE p.refunds > 0 END`,
  },
  {
    name: 'burns-have-their-generation',
    statement: 'Every ledger entry with a generation is a burn or a refund, and the generation exists.',
    checkedWhen: 'always',
    query: `
      SELECT p.account_id, 'generation ' || p.generation_uuid AS subject,
             format('%s, %s burns, %s refunds, %s others', CASE WHEN g.uuid IS NULL THEN 'missing' ELSE g.status END,
                    p.burns, p.refunds, p.others) AS detail
        FROM (${GENERATION_ENTRIES}) p LEFT JOIN generations g ON g.uuid = p.generation_uuid
       WHERE g.uuid IS NULL OR p.others > 0`,
  },
  {
    name: 'slots-are-what-is-queued',
    statement: 'The occupied slots of an account equal its queued generations.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'slots' AS subject, format('%s occupied, %s queued', a.in_flight, coalesce(g.queued, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS queued FROM generations WHERE status = 'queued' GROUP BY 1) g
               ON g.account_id = a.id
       WHERE a.in_flight <> coalesce(g.queued, 0)`,
  },
  {
    name: 'slots-within-the-limit',
    statement:
      'No account has more generations in progress than any of its plans has allowed, or than its current plan allows if one was created since the last sync.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'slots' AS subject,
             format('%s occupied, limit %s, highest limit so far %s', a.in_flight, a.parallel_limit, l.most) AS detail
        FROM accounts a JOIN (${MAX_PARALLEL_LIMITS}) l ON l.id = a.id
        LEFT JOIN subscriptions s ON s.id = a.subscription_id
       WHERE a.in_flight > l.most
          OR EXISTS (SELECT FROM generations g WHERE g.account_id = a.id AND g.status = 'queued'
                                                 AND g.created_at > s.synced_at + ${CLOCK_SKEW_INTERVAL})`,
  },
  {
    name: 'generations-are-numbered',
    statement:
      'The generations of an account are numbered from 1 without gaps, and its counts of all and of deleted ones are right.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'generations' AS subject,
             format('counted %s, deleted %s; found %s, numbered %s to %s, %s deleted', a.generation_count,
                    a.generations_deleted, coalesce(g.total, 0), coalesce(g.first, 0), coalesce(g.last, 0), coalesce(g.deleted, 0)) AS detail
        FROM accounts a
        LEFT JOIN (SELECT account_id, count(*) AS total, count(DISTINCT number) AS numbers, min(number) AS first,
                          max(number) AS last, count(deleted_at) AS deleted
                     FROM generations GROUP BY 1) g ON g.account_id = a.id
       WHERE (a.generation_count, a.generation_count, a.generations_deleted)
               IS DISTINCT FROM (coalesce(g.total, 0), coalesce(g.numbers, 0), coalesce(g.deleted, 0))
          OR (g.total > 0 AND (g.first, g.last) IS DISTINCT FROM (1, g.total))`,
  },
  {
    name: 'deletions-are-counted',
    statement: `The counts of deleted generations in each block of ${DELETION_BLOCK} numbers are right.`,
    checkedWhen: 'always',
    query: `
      SELECT account_id, format('block %s', block) AS subject,
             format('counted %s, found %s', coalesce(d.deleted, 0), coalesce(g.deleted, 0)) AS detail
        FROM generation_deletion_counts d
        FULL JOIN (SELECT account_id, (number - 1) / ${DELETION_BLOCK} AS block, count(*) AS deleted
                     FROM generations WHERE deleted_at IS NOT NULL GROUP BY 1, 2) g USING (account_id, block)
       WHERE d.deleted::bigint IS DISTINCT FROM g.deleted`,
  },
  {
    name: 'completed-generations-are-consistent',
    statement:
      'A succeeded generation has an output and no error, a failed one has an error and no output, and a queued one has neither.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'generation ' || uuid AS subject,
             format('%s at %s, created at %s; output %s, thumbnail %s, error %s, cost %s', status,
                    coalesce(completed_at::text, 'no time'), created_at, coalesce(output_path, 'none'), coalesce(thumbnail_path, 'none'),
                    coalesce(error_message, 'none'), coalesce(provider_cost_cents::text, 'unknown')) AS detail
        FROM generations
       WHERE (status = 'queued') <> (completed_at IS NULL) OR (status = 'succeeded') <> (output_path IS NOT NULL)
          OR (status = 'failed') <> (error_message IS NOT NULL)
          OR (status <> 'succeeded' AND (thumbnail_path IS NOT NULL OR more_outputs IS NOT NULL OR provider_cost_cents IS NOT NULL OR is_watermarked))
          OR (status <> 'succeeded' AND refunded_at IS NOT NULL)
          OR completed_at < created_at - ${CLOCK_SKEW_INTERVAL} OR deleted_at < created_at - ${CLOCK_SKEW_INTERVAL}
          OR (upstream_handle IS NOT NULL AND submit_started_at IS NOT NULL)`,
  },
  {
    name: 'canceled-generations-are-refunded',
    statement: 'A generation that was canceled has failed, its owner has asked for it, and it was refunded once.',
    checkedWhen: 'always',
    query: `
      SELECT g.account_id, 'generation ' || g.uuid AS subject,
             format('%s, cancellation requested %s, %s refunds', g.status, coalesce(g.cancel_requested_at::text, 'never'),
                    coalesce(p.refunds, 0)) AS detail
        FROM generations g LEFT JOIN (${GENERATION_ENTRIES}) p ON p.generation_uuid = g.uuid
       WHERE g.error_message = '${FAILURE_MESSAGES.canceledByOwner}'
         AND (g.status <> 'failed' OR g.cancel_requested_at IS NULL OR (p.refunds IS DISTINCT FROM 1 AND NOT g.is_test))`,
  },
  {
    // A third claim gives up at once, so the generation can only fail. A confirmation that arrived two leases late,
    // while the process that was giving up crashed, would violate this; it has not been observed.
    name: 'unconfirmed-submits-are-given-up',
    statement: `A generation with more than ${UNCONFIRMED_SUBMITS_MAX} unconfirmed submit is given up and has not succeeded.`,
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'generation ' || uuid AS subject, format('%s after %s unconfirmed submits', status, unconfirmed_submits) AS detail
        FROM generations WHERE status = 'succeeded' AND unconfirmed_submits > ${UNCONFIRMED_SUBMITS_MAX}`,
  },
  {
    name: 'one-generation-an-idempotency-key',
    statement: 'No two generations of an account have the same Idempotency-Key.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'generation ' || min(uuid::text) AS subject, count(*) || ' generations with the same key' AS detail
        FROM generations WHERE idempotency_key IS NOT NULL GROUP BY account_id, idempotency_key HAVING count(*) > 1`,
  },
  {
    name: 'nothing-past-its-deadline',
    statement: 'No generation is queued past its deadline.',
    checkedWhen: 'when drained',
    query: `
      SELECT account_id, 'generation ' || uuid AS subject, format('deadline %s', deadline_at) AS detail
        FROM generations WHERE status = 'queued' AND deadline_at <= $1`,
  },
];
