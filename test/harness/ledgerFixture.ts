import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { DELETION_BLOCK } from '../../shared/domain/generations/delete.ts';
import { buildSpendingLimitsSql } from './spendingLimitsFixture.ts';
import { writeAffiliateProgram } from './affiliateFixture.ts';

/**
 * A year of consistent rows: a referred customer with granted, renewed and upgraded months, generations of every
 * status, top-ups of both kinds, one of them partly refunded, and API keys; and the affiliate, paid once, whose plan
 * has ended.
 */

/** Current time of the fixture. */
export const NOW = new Date('2037-03-15T12:00:00Z');
export const CUSTOMER = 1;
export const AFFILIATE = 2;
/** The test account of the customer. */
export const TEST_ACCOUNT = 3;

const CUSTOMER_SUBSCRIPTION = '11111111-1111-4111-8111-111111111111';
const AFFILIATE_SUBSCRIPTION = '22222222-2222-4222-8222-222222222222';
/** Starts of the months, clamped to month ends. The twelfth is the current one at `NOW`. */
const MONTHS = [
  ['2036-03-31', '2036-04-30', '2036-05-31', '2036-06-30', '2036-07-31', '2036-08-31'],
  ['2036-09-30', '2036-10-31', '2036-11-30', '2036-12-31', '2037-01-31', '2037-02-28', '2037-03-31'],
]
  .flat()
  .map((day) => new Date(`${day}T10:00:00Z`));

const HOUR_MS = 3_600_000;
const addHours = (date: Date, hours: number) => new Date(date.getTime() + hours * HOUR_MS);

/** Writes the rows of an account in order and keeps its sums. */
class FixtureAccount {
  readonly client: pg.ClientBase;
  readonly id: number;
  balance = 0;
  planCredits = 0;
  entries = 0;
  generations = 0;
  deleted = 0;
  queued = 0;
  used = 0;
  /** Number of generations when the current period started. */
  periodStartNumber = 0;

  constructor(client: pg.ClientBase, id: number) {
    this.client = client;
    this.id = id;
  }

  async entry(type: string, amount: number, planCredits: number, effect: string | null, at: Date, generation?: string) {
    this.balance += amount;
    this.planCredits += planCredits;
    this.entries += 1;
    await this.client.query(
      `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                   effect_key, generation_uuid, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      // prettier-ignore
      [
        this.id,
        this.entries,
        type,
        amount,
        planCredits,
        this.balance,
        effect?.startsWith('adjustment') ? 'Goodwill credits' : type,
        effect,
        generation ?? null,
        at,
      ],
    );
  }

  /** Posts the entries of a renewal, or of the first month. */
  async month(subscription: string, month: number, credits: number, carried: number, at: Date) {
    const named = (type: string) => `${type}:${subscription}:${month}`;
    if (this.planCredits > 0) await this.entry('expiry', -this.planCredits, -this.planCredits, named('expiry'), at);
    if (carried > 0) await this.entry('rollover', carried, carried, named('rollover'), at);
    await this.entry('grant', credits, credits, named('grant'), at);
    this.used = 0;
    this.periodStartNumber = this.generations;
  }

  /** Writes an image generation that is charged to the plan bucket. @returns its uuid. */
  async image(status: 'queued' | 'succeeded' | 'failed', at: Date, failedAt = addHours(at, 0.01)): Promise<string> {
    const uuid = randomUUID();
    this.generations += 1;
    await this.client.query(
      `INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged, plan_credits_charged,
                                created_at, deadline_at, next_attempt_at, completed_at, output_path, error_message, provider_cost_cents)
       VALUES ($1, $2, $3, 'imgmodel-2', 'a fox', '{"resolution": "1K"}', $4, 8, 8, $5, $6, $5, $7, $8, $9, $10)`,
      [
        uuid,
        this.id,
        this.generations,
        status,
        at,
        addHours(at, 1),
        status === 'queued' ? null : failedAt,
        status === 'succeeded' ? 'aa/one/image.png' : null,
        status === 'failed' ? 'The model refused.' : null,
        status === 'succeeded' ? 3.9 : null,
      ],
    );
    await this.entry('burn', -8, -8, null, at, uuid);
    if (status === 'failed') await this.entry('refund', 8, 8, null, failedAt, uuid);
    else this.used += 8;
    if (status === 'queued') this.queued += 1;
    return uuid;
  }

  /** Updates the account row to the sums of the written rows. */
  async finish(more: Record<string, unknown>) {
    const row = {
      balance: this.balance,
      plan_credits: this.planCredits,
      topup_credits: this.balance - this.planCredits,
      ledger_count: this.entries,
      generation_count: this.generations,
      generations_deleted: this.deleted,
      in_flight: this.queued,
      period_used: this.used,
      generation_count_at_period_start: this.periodStartNumber,
      ...more,
    };
    const columns = Object.keys(row);
    await this.client.query(
      `UPDATE accounts SET ${columns.map((column, index) => `${column} = $${index + 2}`).join(', ')} WHERE id = $1`,
      [this.id, ...Object.values(row)],
    );
  }
}

/** Writes the fixture into an empty database. */
export async function writeLedgerFixture(client: pg.ClientBase): Promise<void> {
  await client.query(`
    INSERT INTO accounts (uuid, email, social_provider, created_at, stripe_customer_id)
    VALUES (gen_random_uuid(), 'customer@example.com', 'google', '2036-03-30T10:00:00Z', 'cus_1'),
           (gen_random_uuid(), 'affiliate@example.com', 'google', '2035-01-10T10:00:00Z', NULL);
    INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, activated_at,
                               stripe_subscription_id, synced_at, created_at)
    VALUES ('${CUSTOMER_SUBSCRIPTION}', 1, 'pro', 'active', 'stripe', '2036-03-31T10:00:00Z', '2037-03-31T10:00:00Z',
            '2037-03-31T10:00:00Z', '2036-03-31T10:01:00Z', 'sub_1', '2037-03-15T11:59:00Z', '2036-03-31T10:00:00Z'),
           ('${AFFILIATE_SUBSCRIPTION}', 2, 'lite', 'canceled', 'stripe', '2035-02-01T10:00:00Z', '2036-02-01T10:00:00Z',
            '2036-02-01T10:00:00Z', '2035-02-01T10:00:00Z', NULL, NULL, '2035-02-01T10:00:00Z');
    INSERT INTO subscription_plans (subscription_id, plan_slug, price_id, stripe_invoice_id, applies_from, applies_until)
    VALUES (1, 'starter', 'price_starter', 'in_1', '2036-03-31T10:00:00Z', '2037-03-31T10:00:00Z'),
           (1, 'pro', 'price_pro', 'in_2', '2036-05-31T15:00:00Z', '2037-03-31T10:00:00Z'),
           (2, 'lite', 'price_lite', 'in_3', '2035-02-01T10:00:00Z', '2036-02-01T10:00:00Z');
    ${INSERT_OWNERS}`);
  await writeCustomer(new FixtureAccount(client, CUSTOMER));
  await writeAffiliate(new FixtureAccount(client, AFFILIATE));
  await writeTestAccount(client);
  await client.query(`
    INSERT INTO usage_days (account_id, day, model, credits, generations)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, model,
           coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed'), 0), count(*) FROM generations GROUP BY 1, 2, 3;
    INSERT INTO usage_totals (account_id, model, credits, generations)
    SELECT account_id, model, sum(credits), sum(generations) FROM usage_days GROUP BY 1, 2;
    UPDATE generations SET member_number = 1;
    UPDATE generations SET api_key_number = 1 + number % 2 WHERE account_id = ${CUSTOMER} AND status <> 'queued';
    INSERT INTO usage_keys (account_id, key_number, credits, generations)
    SELECT account_id, api_key_number, coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed'), 0), count(*)
      FROM generations WHERE api_key_number IS NOT NULL GROUP BY 1, 2;
    INSERT INTO report_progress (is_current, finished_until, summed_at)
    VALUES (true, '2037-03-15T12:00:00Z', '2037-03-15T12:00:00Z');
    INSERT INTO generation_hours (hour, model, upstream, upstream_model, plan, generations, succeeded, failed, plan_credits, topup_credits,
                                  refunded_credits, plan_revenue_cents, topup_revenue_cents, commission_cents,
                                  provider_cost_cents, timed, latency_ms_sum, latency_ms_max)
    SELECT date_trunc('hour', created_at, 'UTC'), model, '', '', '', count(*), count(*) FILTER (WHERE status = 'succeeded'),
           count(*) FILTER (WHERE status = 'failed'),
           coalesce(sum(plan_credits_charged) FILTER (WHERE status <> 'failed'), 0),
           coalesce(sum(credits_charged - plan_credits_charged) FILTER (WHERE status <> 'failed'), 0),
           coalesce(sum(credits_charged) FILTER (WHERE status = 'failed'), 0), 0, 0, 0, coalesce(sum(provider_cost_cents), 0), 0, 0, 0
      FROM generations WHERE NOT is_test GROUP BY 1, 2;
    INSERT INTO payment_events (event_id, type, object_id, payload, received_at, processed_at)
    VALUES ('evt_1', 'invoice.paid', 'in_1', '{"customer":"cus_1"}', '2036-03-31T10:01:00Z', '2036-03-31T10:01:01Z');
    INSERT INTO idempotent_requests (account_id, scope, key_hash, id, request_hash, response, created_at)
    VALUES (1, 'keys.create', 'a', gen_random_uuid(), 'b', 'c', '2037-03-15T11:59:30Z')`);
  await client.query(buildSpendingLimitsSql(CUSTOMER));
}

/** Writes the test account of the customer, with a test key and a generation. */
async function writeTestAccount(client: pg.ClientBase): Promise<void> {
  await client.query(`
    INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at, live_account_id, parallel_limit, generation_count)
    VALUES (gen_random_uuid(), 'test-mode:1', 'test', 'complete', '2036-04-01T10:00:00Z', ${CUSTOMER}, 4, 1);
    INSERT INTO generations (uuid, account_id, number, is_test, model, prompt, params, status, credits_charged, plan_credits_charged,
                             created_at, deadline_at, next_attempt_at, completed_at, output_path, upstream, upstream_model, is_watermarked)
    VALUES (gen_random_uuid(), ${TEST_ACCOUNT}, 1, true, 'imgmodel-2', 'a fox', '{"resolution": "1K"}', 'succeeded', 0, 0,
            '2036-04-01T10:00:00Z', '2036-04-01T10:10:00Z', '2036-04-01T10:00:00Z', '2036-04-01T10:01:00Z', 'aa/two/image.png',
            'test-mode', 'genmeter/image', true)`);
}

async function writeCustomer(account: FixtureAccount): Promise<void> {
  const { client, id } = account;
  let granted = 400;
  for (const [month, start] of MONTHS.slice(0, 12).entries()) {
    await account.month(
      CUSTOMER_SUBSCRIPTION,
      month,
      month < 3 ? 400 : 1100,
      month === 0 ? 0 : Math.min(account.planCredits, granted),
      start,
    );
    granted = month < 3 ? 400 : 1100;
    // The plan is upgraded in the third month.
    if (month === 2) {
      await account.entry('grant', 700, 700, `grant:${CUSTOMER_SUBSCRIPTION}:2:1`, addHours(start, 5));
      granted = 1100;
    }
    const uuid = await account.image('succeeded', addHours(start, 10));
    await account.image('failed', addHours(start, 11));
    if (month === 4) await account.image('succeeded', addHours(start, 12));
    if (month !== 5) continue;
    await client.query('UPDATE generations SET deleted_at = $2 WHERE uuid = $1', [uuid, addHours(start, 20)]);
    await client.query(
      `INSERT INTO generation_deletion_counts SELECT $1, (number - 1) / ${DELETION_BLOCK}, 1 FROM generations WHERE uuid = $2`,
      [id, uuid],
    );
    account.deleted += 1;
  }
  await writeTopups(account);
  await writeAdjustment(account, new Date('2037-03-14T10:00:00Z'));
  await account.image('queued', new Date('2037-03-15T11:58:00Z'));
  await client.query(
    `INSERT INTO api_keys (key_hash, uuid, account_id, number, member_number, name, prefix, created_at, revoked_at)
     SELECT sha256(n::text::bytea), gen_random_uuid(), $1, n, 1, 'a key', 'svc_', $2::timestamptz, CASE WHEN n = 1 THEN $2::timestamptz END
       FROM generate_series(1, 21) AS n`,
    [id, NOW],
  );
  await account.finish({
    subscription_id: 1,
    plan_slug: 'pro',
    parallel_limit: 5,
    spendable_until: '2037-04-01T10:00:00Z',
    period_index: 11,
    period_start: MONTHS[11],
    period_end: MONTHS[12],
    period_granted: 1100,
    period_rollover: 1100,
    auto_topup_claimed_at: '2037-03-10T12:00:00Z',
    key_count: 21,
    active_key_count: 20,
  });
}

async function writeAdjustment(account: FixtureAccount, at: Date): Promise<void> {
  await account.entry('grant', 50, 0, 'adjustment:T-1', at);
  await account.client.query(
    `INSERT INTO audit_entries (uuid, created_at, command_user, role, action, account_id, target_type, target_id, reason, after)
     VALUES (gen_random_uuid(), $2, 'root', 'system', 'credits.adjust', $1, 'account', gen_random_uuid(), '', $3)`,
    [account.id, at, { ledgerEntry: account.entries, credits: 50 }],
  );
}

async function writeTopups(account: FixtureAccount): Promise<void> {
  const { client, id } = account;
  const [manual, first, second] = [randomUUID(), randomUUID(), randomUUID()];
  await client.query(
    `INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, reversed_cents, credits_reversed, reversal_count,
                         created_at, completed_at)
     VALUES ($2, $1, 'manual', 'succeeded', 5000, 1896, 2500, 948, 1, '2037-03-10T10:00:00Z', '2037-03-10T10:01:00Z'),
            ($3, $1, 'automatic', 'succeeded', 5000, 1896, 0, 0, 0, '2037-03-10T11:00:00Z', '2037-03-10T11:00:01Z'),
            ($4, $1, 'automatic', 'failed', 5000, 1896, 0, 0, 0, '2037-03-10T12:00:00Z', '2037-03-10T12:00:01Z'),
            (gen_random_uuid(), $1, 'manual', 'pending', 5000, 1896, 0, 0, 0, '2037-03-15T11:30:00Z', NULL)`,
    [id, manual, first, second],
  );
  await client.query(`INSERT INTO tasks (kind, key, account_id, run_at, created_at)
    SELECT 'topup.page', uuid, account_id, '2037-03-15T12:30:00Z', created_at FROM topups WHERE status = 'pending'`);
  await client.query(
    `UPDATE topups SET net_cents = amount_cents, tax_cents = 950, discount_cents = 0 WHERE uuid = $1`,
    [manual],
  );
  await client.query(
    `INSERT INTO invoices (uuid, account_id, kind, topup_uuid, description, status, currency, total_cents, tax_cents,
                           discount_cents, net_cents, refunded_cents, created_at, paid_at)
     VALUES (gen_random_uuid(), $1, 'topup', $2, 'Top-up: 1896 credits', 'paid', 'usd', 5950, 950, 0, 5000, 2975,
             '2037-03-10T10:01:00Z', '2037-03-10T10:01:00Z')`,
    [id, manual],
  );
  await account.entry('topup', 1896, 0, `topup:${manual}`, new Date('2037-03-10T10:01:00Z'));
  await account.entry('topup', 1896, 0, `topup:${first}`, new Date('2037-03-10T11:00:01Z'));
  await account.entry('expiry', -948, 0, `topup:${manual}:1`, new Date('2037-03-10T13:00:00Z'));
}

async function writeAffiliate(account: FixtureAccount): Promise<void> {
  const { client, id } = account;
  await account.month(AFFILIATE_SUBSCRIPTION, 0, 200, 0, new Date('2035-02-01T10:00:00Z'));
  // A generation that was queued when the subscription ended is refunded afterwards.
  const end = new Date('2036-02-01T10:00:00Z');
  const uuid = await account.image('queued', addHours(end, -0.1));
  await account.entry(
    'expiry',
    -account.planCredits,
    -account.planCredits,
    `expiry:${AFFILIATE_SUBSCRIPTION}:end`,
    end,
  );
  await account.entry('refund', 8, 8, null, addHours(end, 0.1), uuid);
  await client.query(
    `UPDATE generations SET status = 'failed', completed_at = $2, error_message = 'The model did not finish in time.' WHERE uuid = $1`,
    [uuid, addHours(end, 0.1)],
  );
  account.queued = 0;
  account.used = 0;
  await account.finish({
    is_affiliate: true,
    period_start: '2035-02-01T10:00:00Z',
    period_end: '2035-03-01T10:00:00Z',
    period_granted: 200,
  });
  await writeAffiliateProgram(client, { affiliate: id, customer: CUSTOMER });
}
