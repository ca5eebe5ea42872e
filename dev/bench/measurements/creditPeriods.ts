import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Measurement } from '../report.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { verifySums } from '../verify.ts';

/** Each renewal of these accounts expires the remainder, carries a month over and grants the next one. */
const ENTRIES_PER_ACCOUNT = 3;

/** Accounts on the largest plan whose unspent first month ended yesterday. */
const buildSeedSql = (accounts: number) => `
  INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at, plan_slug, spendable_until, parallel_limit,
                        balance, plan_credits, period_start, period_end, period_granted, ledger_count)
  SELECT gen_random_uuid(), 'bench-' || n || '@example.com', 'dev', 'complete', began, 'studio', now() + interval '1 year', 8,
         3000, 3000, began, began + interval '1 month', 3000, 1
    FROM generate_series(1, ${accounts}) AS n, LATERAL (SELECT ${monthAgoSql('n')} AS began) s;
  INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at)
  SELECT gen_random_uuid(), id, plan_slug, 'active', 'stripe', created_at, spendable_until, spendable_until, created_at FROM accounts;
  INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
  SELECT id, plan_slug, '-infinity', paid_until FROM subscriptions;
  UPDATE accounts a SET subscription_id = s.id FROM subscriptions s WHERE s.account_id = a.id;
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
  SELECT a.id, 1, 'grant', 3000, 3000, 3000, 'Monthly credits: Studio plan', 'grant:' || s.uuid || ':0', a.created_at
    FROM accounts a JOIN subscriptions s ON s.account_id = a.id;
  CREATE TABLE bare_entries (LIKE ledger_entries INCLUDING ALL);
  INSERT INTO bare_entries SELECT * FROM ledger_entries`;

/** Spread over a day, in no particular order of accounts. */
function monthAgoSql(n: string): string {
  return `date_trunc('second', now()) - interval '1 month 2 days' + (${n}::bigint * 7919 % 86400) * interval '1 second'`;
}

/** Makes periods that were renewed due again, as if one more month had passed since the start. */
const ADVANCE_MONTH_SQL = `
  UPDATE subscriptions SET started_at = started_at - interval '1 month';
  UPDATE accounts a
     SET period_start = s.started_at + make_interval(months => a.period_index),
         period_end = s.started_at + make_interval(months => a.period_index + 1)
    FROM subscriptions s WHERE s.account_id = a.id`;

/** Inserts as many similar rows with one statement that decides nothing and changes no account. */
const BARE_INSERT_SQL = `
  INSERT INTO bare_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
  SELECT a.id, ${ENTRIES_PER_ACCOUNT} * $1::int + 1 + e.place, e.type, e.amount, e.amount, e.balance_after, e.description,
         e.type || ':' || s.uuid || ':' || $1::int + 1, now()
    FROM accounts a JOIN subscriptions s ON s.account_id = a.id,
         (VALUES (1, 'expiry', -3000, 0, 'Unspent plan credits of the month'),
                 (2, 'rollover', 3000, 3000, 'Rolled over from the month before'),
                 (3, 'grant', 3000, 6000, 'Monthly credits: Studio plan')) AS e (place, type, amount, balance_after, description)`;

interface CreditPeriodsFixture {
  client: Client;
  accounts: number;
  /** Number of months that were inserted into the bare table. */
  bareMonths: number;
}

/**
 * Measures monthly grants of accounts that are all due while nothing else uses the database, against one bare insert of as
 * many rows into a table like the ledger.
 */
export async function measureCreditPeriods(environment: BenchEnvironment): Promise<Measurement[]> {
  const { rounds, grants } = environment.options;
  const { url, client } = await environment.database('bench_grants');
  const fixture: CreditPeriodsFixture = { client, accounts: grants.accounts, bareMonths: 0 };
  await client.query(buildSeedSql(fixture.accounts));
  await vacuumTables(client);
  await client.query('CHECKPOINT');
  const child = await environment.child('./load/creditPeriods.ts', url);

  async function renewPeriods(): Promise<number> {
    // For the renewal the database is in use for a second after the last statement of others.
    await delay(1_500);
    const { renewed, ms } = await child.call<{ renewed: number; ms: number }>('renew', null);
    if (renewed !== fixture.accounts)
      throw new Error(`${renewed} periods were renewed, but ${fixture.accounts} were due.`);
    await client.query(ADVANCE_MONTH_SQL);
    await vacuumTables(client);
    return (1_000 * renewed) / ms;
  }

  // The first round of each side runs cold code on pages that are not cached.
  await renewPeriods();
  await insertBare(fixture);
  const perSecond = await alternateRounds(rounds, renewPeriods, () => insertBare(fixture));
  await child.end();
  await verifySums(client, 0);
  await verifyEntries(fixture, rounds + 1);
  return [
    {
      target: 'grants',
      value: medianRatio(perSecond),
      parts: {
        'accounts/s': median(perSecond.a),
        'bare accounts/s': median(perSecond.b),
        'due accounts': fixture.accounts,
        'rows each': ENTRIES_PER_ACCOUNT,
      },
    },
  ];
}

async function insertBare(fixture: CreditPeriodsFixture): Promise<number> {
  const startedAt = performance.now();
  await fixture.client.query(BARE_INSERT_SQL, [fixture.bareMonths]);
  const ms = performance.now() - startedAt;
  fixture.bareMonths += 1;
  await vacuumTables(fixture.client);
  return (1_000 * fixture.accounts) / ms;
}

/** Vacuums, so that neither side pays for dead rows of the other or of the month's change. */
async function vacuumTables(client: Client): Promise<void> {
  await client.query('VACUUM ANALYZE accounts, subscriptions, ledger_entries, bare_entries');
}

async function verifyEntries({ client, accounts, bareMonths }: CreditPeriodsFixture, months: number): Promise<void> {
  const { rows } = await client.query<{ ledger: number; bare: number }>(
    `SELECT (SELECT count(*)::int FROM ledger_entries) AS ledger, (SELECT count(*)::int FROM bare_entries) AS bare`,
  );
  const expected = {
    ledger: accounts * (1 + ENTRIES_PER_ACCOUNT * months),
    bare: accounts * (1 + ENTRIES_PER_ACCOUNT * bareMonths),
  };
  if (rows[0]!.ledger !== expected.ledger || rows[0]!.bare !== expected.bare) {
    throw new Error(`${JSON.stringify(rows[0])} entries instead of ${JSON.stringify(expected)}.`);
  }
}
