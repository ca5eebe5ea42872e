import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreates } from '../httpRequests.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';
import { seedDueAccounts } from '../specialSeeds.ts';
import { countRows, verifyCount, verifySums } from '../verify.ts';

/** Each renewal of these accounts expires the remainder, carries a month over and grants the next one. */
const ENTRIES_PER_ACCOUNT = 3;
/** About as many as the whole pipeline completes on two processors. */
const CREATES_PER_SECOND = 200;

/** Makes periods that were renewed due again, as if one more month had passed since the start. */
const ADVANCE_MONTH = `
  UPDATE subscriptions SET started_at = started_at - interval '1 month';
  UPDATE accounts a
     SET period_start = s.started_at + make_interval(months => a.period_index),
         period_end = s.started_at + make_interval(months => a.period_index + 1)
    FROM subscriptions s WHERE s.account_id = a.id`;

/** Inserts as many similar rows with one statement that decides nothing and changes no account. */
const BARE_INSERT = `
  INSERT INTO bare_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
  SELECT a.id, ${ENTRIES_PER_ACCOUNT} * $1::int + 1 + e.place, e.type, e.amount, e.amount, e.balance_after, e.description,
         e.type || ':' || s.uuid || ':' || $1::int + 1, now()
    FROM accounts a JOIN subscriptions s ON s.account_id = a.id,
         (VALUES (1, 'expiry', -3000, 0, 'Unspent plan credits of the month'),
                 (2, 'rollover', 3000, 3000, 'Rolled over from the month before'),
                 (3, 'grant', 3000, 6000, 'Monthly credits: Studio plan')) AS e (place, type, amount, balance_after, description)`;

/** Vacuums, so that neither side pays for dead rows of the other or of the month's change. */
const VACUUM = 'VACUUM ANALYZE accounts, subscriptions, ledger_entries, bare_entries';

/** The accounts that create are due as well, somewhere among the others. */
const ALSO_DUE = `
  UPDATE subscriptions SET started_at = now() - interval '10 months' - (account_id * 7919 % 3600) * interval '1 second'
   WHERE id IN (SELECT subscription_id FROM accounts WHERE key_count > 0);
  UPDATE accounts a
     SET period_index = 9, period_start = s.started_at + interval '9 months', period_end = s.started_at + interval '10 months'
    FROM subscriptions s WHERE s.id = a.subscription_id AND a.key_count > 0`;

/** A renewal resets what a month has used; the sums are those of all months. */
const UNDO_PERIOD_USED = `
  UPDATE accounts a
     SET period_used = period_used + (SELECT coalesce(sum(credits_charged), 0) FROM generations
                                       WHERE account_id = a.id AND number <= a.generation_count_at_period_start)
   WHERE key_count > 0`;

export async function* measure(bench: Bench): Figures {
  if (bench.options.only.includes('grants')) yield* measureGrants(bench);
  await bench.endMeasurement();
  if (bench.options.only.includes('isolation')) yield* measureIsolation(bench);
}

/**
 * Measures monthly grants of accounts that are all due while nothing else uses the database, against one bare insert of
 * as many rows into a table like the ledger.
 */
async function* measureGrants(bench: Bench): Figures {
  const { accounts } = bench.options.grants;
  const { url, client } = await bench.database('grants');
  await seedDueAccounts(client, accounts);
  await client.query(`CREATE TABLE bare_entries (LIKE ledger_entries INCLUDING ALL);
                      INSERT INTO bare_entries SELECT * FROM ledger_entries`);
  await client.query(VACUUM);
  await client.query('CHECKPOINT');
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
  const months = { ours: 0, bare: 0 };
  yield {
    name: `monthly grants of ${accounts} accounts : one bare insert of as many rows`,
    ours: async () => {
      // For the renewal the database is in use for a second after the last statement of others.
      await delay(1_500);
      const { renewed, ms } = await service.renew(null);
      verifyCount('renewed periods', renewed, accounts);
      await client.query(ADVANCE_MONTH);
      await client.query(VACUUM);
      months.ours += 1;
      return { 'per second': (1_000 * accounts) / ms };
    },
    bare: async () => {
      const startedAt = performance.now();
      await client.query(BARE_INSERT, [months.bare]);
      const ms = performance.now() - startedAt;
      await client.query(VACUUM);
      months.bare += 1;
      return { 'per second': (1_000 * accounts) / ms };
    },
    target: [0.45, 0.5],
  };
  await verifySums(client, 0);
  for (const [table, done] of [
    ['ledger_entries', months.ours],
    ['bare_entries', months.bare],
  ] as const)
    verifyCount(table, await countRows(client, table), accounts * (1 + ENTRIES_PER_ACCOUNT * done));
}

/**
 * Measures creates at a constant rate, in turn with and without a renewal of credit periods beside them, while a
 * million accounts are due, those that create included. No worker takes the generations: the renewal runs as in the
 * worker's job, in a process of its own, and stays incomplete, since it can take an hour.
 */
async function* measureIsolation(bench: Bench): Figures {
  const { accounts, isolation } = bench.options;
  const { url, client, verify } = await bench.seed('isolation');
  await seedDueAccounts(client, isolation.accounts);
  await client.query(ALSO_DUE);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  const expected = await countDue(client);
  const api = await bench.api(url);
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
  const http = await bench.http();
  await http.prepare({ name: 'create', port: api.port, expect: 201, requests: buildCreates(accounts) });
  const create = () => http.runAtRate('create', CREATES_PER_SECOND, isolation.roundMs);
  let renewed = 0;
  yield {
    name: `create, p99, while ${isolation.accounts} accounts are due and renewed : without renewal`,
    ours: async () => {
      const renewing = service.renew(isolation.roundMs);
      const result = await create();
      const renewal = await renewing;
      renewed += renewal.renewed;
      return { ...result, 'periods per second': (1_000 * renewal.renewed) / renewal.ms };
    },
    bare: create,
    by: 'p99 ms',
    target: [1.2, 1.2],
    rounds: isolation.rounds,
  };
  verifyCount('renewed and due periods', renewed + (await countDue(client)), expected);
  await client.query(UNDO_PERIOD_USED);
  await verify(await http.countCreated());
}

function countDue(client: Client): Promise<number> {
  return countRows(client, 'accounts WHERE period_end <= now()');
}
