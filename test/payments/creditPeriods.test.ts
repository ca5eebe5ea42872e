import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type pg from 'pg';
import { lockAccount } from '../../shared/domain/credits/ledger.ts';
import { endCreditPeriods, resumeCreditPeriods } from '../../shared/domain/credits/periods.ts';
import { renewDueCreditPeriods } from '../../shared/domain/credits/renewDuePeriods.ts';
import { resetDraining, startDraining } from '../../shared/lib/drain.ts';
import { runJob } from '../harness/jobs.ts';
import { captureError } from '../harness/expectRejection.ts';
import { REWRITE_PLAN_HISTORY } from '../harness/planHistory.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, useTestService } from '../harness/testService.ts';
import { Account } from '../../shared/tables/Account.ts';
import { Subscription } from '../../shared/tables/Subscription.ts';

const DAY_MS = 86_400_000;
const MONTHLY: Record<string, number> = { lite: 200, starter: 400, pro: 1100, studio: 3000 };

/** An account at some point of its subscription. */
interface Sample {
  plan: string;
  status: 'active' | 'past_due';
  /** Start of its subscription. */
  startedAt: Date;
  /** Index of the period in its row. */
  index: number;
  planCredits: number;
  topupCredits: number;
  granted: number;
  paidMonths: number;
}

const sample: fc.Arbitrary<Sample> = fc.record({
  plan: fc.constantFrom(...Object.keys(MONTHLY)),
  status: fc.constantFrom('active', 'active', 'active', 'past_due'),
  // Includes last days of months and leap days.
  startedAt: fc.oneof(
    fc.date({ min: new Date('2023-01-01'), max: new Date('2026-09-01'), noInvalidDate: true }),
    fc
      .constantFrom('2024-01-31', '2024-02-29', '2025-08-31', '2026-01-30', '2023-12-31')
      .map((day) => new Date(`${day}T23:59:59.500Z`)),
  ),
  index: fc.integer({ min: 0, max: 11 }),
  planCredits: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 7000 })),
  topupCredits: fc.integer({ min: 0, max: 5000 }),
  granted: fc.constantFrom(200, 400, 1100, 3000),
  paidMonths: fc.constantFrom(12, 24),
});

/** Independent model of addMonths: the same day some months later, clamped to the end of the month. */
function addMonthsModel(from: Date, count: number): Date {
  const year = from.getUTCFullYear() + Math.floor((from.getUTCMonth() + count) / 12);
  const month = (from.getUTCMonth() + count) % 12;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const last = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] as number;
  const time = from.getTime() % DAY_MS;
  return new Date(Date.UTC(year, month, Math.min(from.getUTCDate(), last)) + (time < 0 ? time + DAY_MS : time));
}

/** Computes the entries that the rules require until `at`, and the resulting balances. */
function computeExpected(account: Sample, at: Date) {
  const entries: [string, number][] = [];
  let { index, planCredits, granted } = account;
  let rollover = 0;
  const paidUntil = addMonthsModel(account.startedAt, account.paidMonths);
  while (
    account.status === 'active' &&
    addMonthsModel(account.startedAt, index + 1) <= at &&
    addMonthsModel(account.startedAt, index + 1) < paidUntil
  ) {
    if (planCredits > 0) entries.push(['expiry', -planCredits]);
    rollover = Math.min(planCredits, granted);
    if (rollover > 0) entries.push(['rollover', rollover]);
    granted = MONTHLY[account.plan] as number;
    entries.push(['grant', granted]);
    planCredits = rollover + granted;
    index += 1;
  }
  return { entries, index, planCredits, granted, rollover, periodEnd: addMonthsModel(account.startedAt, index + 1) };
}

/** Invariants that inserted accounts violate: they have no history before their current period. */
const WITHOUT_HISTORY = [
  'entries-name-their-cause',
  'entry-signs-match-their-type',
  'accounts-use-their-own-subscription',
  'entitlement-matches-subscription',
  'one-grant-a-month',
  'periods-renew-atomically',
  'accounts-are-in-their-latest-period',
  'used-this-month-is-burned-this-month',
];

describe('credit period renewals', () => {
  const service = useTestService({ apis: 0, workers: 0 });
  before(async () => {
    for (const name of WITHOUT_HISTORY) service.fabricated.add(name);
  });

  it('renew each due month once and in order, for every balance and any length of outage', async () => {
    const samples = fc.sample(sample, { numRuns: 400, seed: 20_261_121 });
    await insertAll(service, samples);
    const at = new Date();
    // Two workers start at the same time and renew the same periods.
    await Promise.all([service.startWorker(), service.startWorker()]);
    await eventually('all periods are renewed', async () => (await countDue(service, at)) === 0, 50_000);
    for (const [position, account] of samples.entries()) {
      const [row] = await service.sql('SELECT * FROM accounts WHERE id = $1', [position + 1]);
      const entries = await service.sql(
        `SELECT entry_type, amount FROM ledger_entries WHERE account_id = $1 AND description <> 'seed' ORDER BY number`,
        [position + 1],
      );
      const expected = computeExpected(account, at);
      const name = JSON.stringify(account);
      expect(
        entries.map((entry) => [entry.entry_type, entry.amount]),
        name,
      ).to.deep.equal(expected.entries);
      expect(row, name).to.include({
        balance: expected.planCredits + account.topupCredits,
        plan_credits: expected.planCredits,
        topup_credits: account.topupCredits,
        period_index: expected.index,
        period_granted: expected.granted,
      });
      expect(row.period_end, name).to.deep.equal(expected.periodEnd);
      if (expected.entries.length > 0)
        expect(row, name).to.include({ period_rollover: expected.rollover, period_used: 0 });
    }
  });

  it('grant no month of a subscription twice: the ledger rejects the second entry', async () => {
    const again = service.sql(
      `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
       SELECT account_id, number + 1000, 'grant', 1, 1, 1, 'again', effect_key, now()
         FROM ledger_entries WHERE entry_type = 'grant' AND effect_key IS NOT NULL LIMIT 1`,
    );
    const { code, detail } = (await captureError(again)) as pg.DatabaseError;
    expect(code).to.equal('23505');
    expect(detail).to.include('effect_key');
  });

  it('renew the other accounts when the database rejects the renewal of one', async () => {
    const startedAt = new Date(Date.now() - 5 * DAY_MS);
    const credits = { planCredits: 5, topupCredits: 0, granted: 200 };
    const account: Sample = { plan: 'lite', status: 'active', startedAt, index: 0, paidMonths: 12, ...credits };
    const before = await service.sql('SELECT id FROM accounts');
    await insertAll(
      service,
      Array.from({ length: 3 }, () => account),
    );
    const [first, ...others] = await service.sql('SELECT id FROM accounts WHERE id <> ALL($1) ORDER BY id', [
      before.map(({ id }) => id as number),
    ]);
    // Stands for a corrupted row.
    await service.sql(
      `ALTER TABLE ledger_entries ADD CONSTRAINT reject_one_account CHECK (account_id <> ${first.id}) NOT VALID`,
    );
    const began = new Date(Date.now() - 40 * DAY_MS);
    const ids = [first, ...others].map(({ id }) => id as number);
    await service.sql('UPDATE subscriptions SET started_at = $1 WHERE account_id = ANY($2)', [began, ids]);
    await service.sql(REWRITE_PLAN_HISTORY);
    await service.sql('UPDATE accounts SET period_end = $1 WHERE id = ANY($2)', [addMonthsModel(began, 1), ids]);
    await runJob({ service }, 'maintenance', 'creditPeriods.renew');
    const readPeriodIndex = async (id: number) =>
      (await service.sql('SELECT period_index FROM accounts WHERE id = $1', [id]))[0].period_index;
    for (const { id } of others)
      await eventually('the others are renewed', async () => (await readPeriodIndex(id)) === 1);
    expect(await readPeriodIndex(first.id)).to.equal(0);
    await service.sql('ALTER TABLE ledger_entries DROP CONSTRAINT reject_one_account');
    await runJob({ service }, 'maintenance', 'creditPeriods.renew');
    await eventually('the first account is renewed', async () => (await readPeriodIndex(first.id)) === 1);
  });
});

describe('a run that renews credit periods', () => {
  const service = useTestService({ workers: 0 });
  before(async () => {
    for (const name of WITHOUT_HISTORY) service.fabricated.add(name);
    const credits = { planCredits: 5, topupCredits: 0, granted: 200 };
    const startedAt = new Date(Date.now() - 40 * DAY_MS);
    const account: Sample = { plan: 'lite', status: 'active', startedAt, index: 0, paidMonths: 12, ...credits };
    await insertAll(
      service,
      Array.from({ length: 250 }, () => account),
    );
  });

  it('renews none while the process shuts down', async () => {
    startDraining();
    expect(await renewDueCreditPeriods()).to.equal(0);
    resetDraining();
    expect(await countDue(service, new Date())).to.equal(250);
  });

  it('ends at its time limit after a batch, and leaves the other accounts to the next run', async () => {
    expect(await renewDueCreditPeriods({ runMaxMs: 1 })).to.equal(10);
    expect(await countDue(service, new Date())).to.equal(240);
  });

  it('renews the accounts behind a batch of those without a plan for their next month', async () => {
    await service.sql(
      `DELETE FROM subscription_plans WHERE subscription_id IN (
         SELECT subscription_id FROM accounts WHERE period_end <= now() ORDER BY period_end LIMIT 12)`,
    );
    expect(await renewDueCreditPeriods()).to.equal(228);
    await service.sql(REWRITE_PLAN_HISTORY);
  });

  it('renews all other accounts in the next run', async () => {
    expect(await renewDueCreditPeriods()).to.equal(12);
    expect(await countDue(service, new Date())).to.equal(0);
    expect(await renewDueCreditPeriods()).to.equal(0);
  });
});

async function countDue(service: TestService, at: Date): Promise<number> {
  const [row] = await service.sql(
    `SELECT count(*)::int AS due FROM accounts a JOIN subscriptions s ON s.account_id = a.id AND s.status = 'active'
      WHERE a.period_end <= $1 AND a.period_end < s.paid_until`,
    [at],
  );
  return row.due;
}

async function insertAll(service: TestService, accounts: readonly Sample[]): Promise<void> {
  for (const account of accounts) await insert(service, account);
  await service.sql(INSERT_OWNERS);
  await service.sql(REWRITE_PLAN_HISTORY);
}

async function insert(service: TestService, account: Sample): Promise<void> {
  const { plan, status, startedAt, index, planCredits, topupCredits, granted, paidMonths } = account;
  const [row] = await service.sql(
    `INSERT INTO accounts (uuid, email, social_provider, created_at, plan_slug, spendable_until, parallel_limit, balance, plan_credits,
                           topup_credits, period_index, period_start, period_end, period_granted, period_used, ledger_count)
     VALUES ($1, $2, 'test', $3, $4, now() + interval '1 day', 5, $5, $6, $7, $8, $9, $10, $11, 3, $12) RETURNING id`,
    [
      randomUUID(),
      `${randomUUID()}@example.com`,
      startedAt,
      plan,
      planCredits + topupCredits,
      planCredits,
      topupCredits,
      index,
      addMonthsModel(startedAt, index),
      addMonthsModel(startedAt, index + 1),
      granted,
      planCredits + topupCredits > 0 ? 1 : 0,
    ],
  );
  const paidUntil = addMonthsModel(startedAt, paidMonths);
  await service.sql(
    `INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, past_due_since, created_at)
     VALUES ($1, $2, $3, $4, 'stripe', $5, now() + interval '1 year', $6, $7, $5)`,
    [randomUUID(), row.id, plan, status, startedAt, paidUntil, status === 'past_due' ? new Date() : null],
  );
  await service.sql(
    'UPDATE accounts SET subscription_id = (SELECT id FROM subscriptions WHERE account_id = $1) WHERE id = $1',
    [row.id],
  );
  if (planCredits + topupCredits === 0) return;
  await service.sql(
    `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
     VALUES ($1, 1, 'grant', $2, $3, $2, 'seed', now())`,
    [row.id, planCredits + topupCredits, planCredits],
  );
}

describe('a subscription that ended during an outage', () => {
  const service = useTestService();

  it('is granted all of its months before its plan credits expire, and leaves the account without a period', async () => {
    const customer = await service.createCustomer('lite');
    const startedAt = new Date(Date.now() - 370 * DAY_MS);
    const values = [customer.email, startedAt, addMonthsModel(startedAt, 12)];
    const granting = await service.database.connect();
    try {
      // The renewal job skips a locked row; the job that ends subscriptions waits for it.
      await granting.query('BEGIN');
      await granting.query(
        'UPDATE accounts SET period_start = $2, period_end = $3, spendable_until = $4 WHERE email = $1',
        [customer.email, startedAt, addMonthsModel(startedAt, 1), addMonthsModel(startedAt, 12)],
      );
      await service.sql(
        `UPDATE subscriptions SET started_at = $2, current_period_end = $3, paid_until = $3
          WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
        values,
      );
      await service.sql(REWRITE_PLAN_HISTORY);
      const ending = runJob({ service }, 'billing', 'billing.maintain');
      await eventually('the end waits for the account', async () => (await service.countLockWaits()) > 0);
      await granting.query('COMMIT');
      await ending;
    } finally {
      granting.release();
    }
    const ledger = await customer.ledger();
    expect(ledger.filter(([type]) => type === 'grant')).to.have.length(12);
    expect(ledger.at(-1)?.[0]).to.equal('expiry');
    const { body } = await customer.request('GET', '/api/usage/summary/');
    expect(body.plan).to.equal(null);
    expect(body.credits).to.deep.include({ balance: 0, granted_this_period: 0, used_this_period: 0, rollover: 0 });
    expect([body.credits.period_start, body.credits.period_end]).to.deep.equal([null, null]);
  });
});

describe('a subscription that ended and is live again', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  it('gets the plan credits back that expired with its end, once', async () => {
    const customer = await service.createCustomer('lite');
    const granted = await customer.balance();
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
    const change = (apply: typeof endCreditPeriods) =>
      Account.transaction(async (transaction) => {
        const account = await lockAccount(transaction, id);
        const subscription = await Subscription.query(transaction).findById(account.subscription_id as number);
        await apply(transaction, account, subscription as Subscription, {});
      });
    await change(endCreditPeriods);
    await change(resumeCreditPeriods);
    expect(await customer.balance()).to.equal(granted);
    for (let spent = 0; spent < granted; spent += 8) {
      await customer.createImage();
      await completeAllGenerations(service, customer);
    }
    // Nothing is left to expire.
    await change(endCreditPeriods);
    await change(resumeCreditPeriods);
    expect(await customer.balance()).to.equal(0);
  });
});
