import { DELETION_BLOCK } from '../../shared/domain/generations/delete.ts';
import type { TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

/** State changes for a service without a worker. All of them keep the invariants. */

type ModelSlug = 'vidmodel-video' | 'imgmodel-2';
type ModelStatus = 'online' | 'degraded' | 'offline';

/** Sets the health of a model, from a probe this many seconds ago; by default from one that stays fresh for an hour. */
export async function setModelHealth(
  service: TestService,
  model: ModelSlug,
  status: ModelStatus,
  probedSecondsAgo = -3_600,
) {
  await service.sql(
    `INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at, detail)
     VALUES ($1, 0, '', $2, 0, 0, now() - $3 * interval '1 second', '')
     ON CONFLICT (model, position) DO UPDATE SET status = excluded.status, probed_at = excluded.probed_at`,
    [model, status, probedSecondsAgo],
  );
}

export async function setAllModelsOnline(service: TestService): Promise<void> {
  await setModelHealth(service, 'vidmodel-video', 'online');
  await setModelHealth(service, 'imgmodel-2', 'online');
}

/** Completes all queued generations of a customer successfully. */
export async function completeAllGenerations(service: TestService, { email }: TestCustomer): Promise<void> {
  await service.sql(
    `WITH ended AS (
       UPDATE generations SET status = 'succeeded', completed_at = now(), output_path = 'aa/seeded/image.png'
        WHERE status = 'queued' AND account_id = (SELECT id FROM accounts WHERE email = $1) RETURNING 1
     )
     UPDATE accounts SET in_flight = in_flight - (SELECT count(*) FROM ended) WHERE email = $1`,
    [email],
  );
}

/** Adds credits, as a top-up does. */
export async function addTopupCredits(
  service: TestService,
  { email }: TestCustomer,
  credits: number,
  description = 'Top-up',
): Promise<void> {
  await service.sql(
    `WITH owner AS (
       UPDATE accounts SET balance = balance + $2, topup_credits = topup_credits + $2, ledger_count = ledger_count + 1
        WHERE email = $1 RETURNING *
     ), paid AS (
       INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, created_at, completed_at)
       SELECT gen_random_uuid(), id, 'manual', 'succeeded', 5000, $2, now(), now() FROM owner RETURNING uuid
     )
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key,
                                 created_at)
     SELECT id, ledger_count, 'topup', $2, 0, balance, $3, 'topup:' || paid.uuid, now() FROM owner, paid`,
    [email, credits, description],
  );
}

/**
 * Inserts completed images of 1 credit each, all created this many days ago. The prompt of the n-th generation of the
 * account is "n", so that lists can be read as numbers.
 */
export async function seedImages(
  service: TestService,
  { email }: TestCustomer,
  count: number,
  daysAgo = 0,
): Promise<void> {
  // Images from before the month appear in the ledger after its grant, and their hours may be final.
  if (daysAgo > 0) service.fabricated.add('used-this-month-is-burned-this-month').add('final-hours-match-generations');
  await insertImages(service, email, { count, daysAgo });
}

/** Charges one completed image with these credits, at the time of the service's clock. */
export function seedBurn(service: TestService, { email }: Pick<TestCustomer, 'email'>, credits: number): Promise<void> {
  return insertImages(service, email, { credits, at: service.now });
}

interface SeededImages {
  count?: number;
  /** Credits of each. */
  credits?: number;
  /** Time of their end, and unless `daysAgo` is given of their creation; default: that of Postgres. */
  at?: Date | null;
  daysAgo?: number;
}

async function insertImages(
  service: TestService,
  email: string,
  { count = 1, credits = 1, at = null, daysAgo = 0 }: SeededImages,
): Promise<void> {
  await service.sql(
    `WITH owner AS MATERIALIZED (
       SELECT *, $2::int * $3::int AS spent, least(plan_credits, $2::int * $3::int) AS from_plan,
              coalesce($4::timestamptz, now()) AS ended
         FROM accounts WHERE email = $1
     ), made AS (
       INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged,
                                plan_credits_charged, created_at, deadline_at, next_attempt_at, completed_at, output_path)
       SELECT (lpad(to_hex(floor(1000 * extract(epoch FROM made_at))::bigint), 12, '0')
               || right(replace(gen_random_uuid()::text, '-', ''), 20))::uuid, id, generation_count + i, 'imgmodel-2', generation_count + i,
              '{"resolution": "1K", "aspect_ratio": "1:1"}', 'succeeded', $3, greatest(0, least($3, from_plan - (i - 1) * $3)),
              made_at, ended, ended, ended, 'aa/seeded/image.png'
         FROM owner, LATERAL (SELECT ended - $5 * interval '1 day' AS made_at) moment, generate_series(1, $2::int) AS i
       RETURNING uuid, account_id, number, credits_charged, plan_credits_charged, created_at
     ), burned AS (
       INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                   generation_uuid, created_at)
       SELECT id, ledger_count + number - generation_count, 'burn', -credits_charged, -plan_credits_charged,
              balance - (number - generation_count) * $3, 'Generation: imgmodel-2', made.uuid, made.created_at
         FROM made JOIN owner ON owner.id = made.account_id
     ), used AS (
       INSERT INTO usage_days AS u (account_id, day, model, credits, generations)
       SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, 'imgmodel-2', sum(credits_charged), count(*)
         FROM made GROUP BY 1, 2
       ON CONFLICT (account_id, day, model) DO UPDATE
         SET credits = u.credits + excluded.credits, generations = u.generations + excluded.generations
     ), totalled AS (
       INSERT INTO usage_totals AS u (account_id, model, credits, generations)
       SELECT account_id, 'imgmodel-2', sum(credits_charged), count(*) FROM made GROUP BY 1
       ON CONFLICT (account_id, model) DO UPDATE
         SET credits = u.credits + excluded.credits, generations = u.generations + excluded.generations
     )
     UPDATE accounts a
        SET balance = owner.balance - spent, plan_credits = owner.plan_credits - from_plan,
            topup_credits = owner.topup_credits - (spent - from_plan),
            period_used = owner.period_used + CASE WHEN $5 = 0 THEN spent ELSE 0 END,
            generation_count = owner.generation_count + $2::int, ledger_count = owner.ledger_count + $2::int
       FROM owner WHERE a.id = owner.id`,
    [email, count, credits, at, daysAgo],
  );
}

/** Deletes the generations with these numbers, with all of the service's bookkeeping. */
export async function deleteGenerationsByNumber(
  service: TestService,
  { email }: TestCustomer,
  numbers: number[],
): Promise<void> {
  await service.sql(
    `WITH gone AS (
       UPDATE generations SET deleted_at = now()
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1) AND number = ANY ($2::bigint[]) AND deleted_at IS NULL
       RETURNING account_id, number
     ), counted AS (
       UPDATE accounts SET generations_deleted = generations_deleted + (SELECT count(*) FROM gone) WHERE email = $1
     )
     INSERT INTO generation_deletion_counts AS d (account_id, block, deleted)
     SELECT account_id, (number - 1) / ${DELETION_BLOCK}, count(*) FROM gone GROUP BY 1, 2
     ON CONFLICT (account_id, block) DO UPDATE SET deleted = d.deleted + excluded.deleted`,
    [email, numbers],
  );
}

/**
 * Gives the generations of a customer all statuses, both models, and times that are not quite in the order of their
 * numbers: an hour apart, with some that are two hours late and some at the same time.
 */
export async function varyGenerations(service: TestService, { email }: TestCustomer): Promise<void> {
  for (const invariant of [
    'usage-days-match-generations',
    'one-refund-a-failure',
    'slots-are-what-is-queued',
    'used-this-month-is-burned-this-month',
    'final-hours-match-generations',
  ]) {
    service.fabricated.add(invariant);
  }
  await service.sql(
    `UPDATE generations g
        SET status = v.status, model = CASE WHEN number % 3 = 0 THEN 'vidmodel-video' ELSE 'imgmodel-2' END,
            created_at = v.created_at,
            completed_at = CASE WHEN v.status <> 'queued' THEN v.created_at + interval '7 seconds' END,
            output_path = CASE WHEN v.status = 'succeeded' THEN 'aa/seeded/image.png' END,
            error_message = CASE WHEN v.status = 'failed' THEN 'The model refused.' END
       FROM (SELECT uuid, CASE WHEN number % 5 = 0 THEN 'failed' WHEN number % 7 = 1 THEN 'queued' ELSE 'succeeded' END AS status,
                    timestamptz '2026-03-01 00:00Z'
                      + (number - number % 6 / 5 - CASE WHEN number % 8 = 4 THEN 2 ELSE 0 END) * interval '1 hour' AS created_at
               FROM generations) v
      WHERE v.uuid = g.uuid AND g.account_id = (SELECT id FROM accounts WHERE email = $1)`,
    [email],
  );
}
