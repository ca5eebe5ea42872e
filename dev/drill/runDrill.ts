import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compareStripeWithDatabase } from '../../test/fakes/stripe/compareWithDatabase.ts';
import { FakeStripe } from '../../test/fakes/stripe/fakeStripe.ts';
import { FakeUpstream } from '../../test/fakes/fakeUpstream.ts';
import { Closers } from '../local/environment/closers.ts';
import { connectTo } from '../local/environment/databases.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { backUp, query } from './backup.ts';
import { createDrillCustomer, type DrillCustomer } from './customer.ts';
import { openSite, type Site } from './site.ts';

const SETTLE_TIMEOUT_MS = 300_000;
/** Generations that have ended and that are queued in the backup; half as many follow it. */
const GENERATIONS = 4;
const POLL_INTERVAL_MS = 500;
const CHECK = 'dist/worker/cli/check/main.js';
const RELEASE = 'dist/migrations/main.js';
const TOPUP = { amount_cents: 5_000 };

/** Result of one drill, in the order of its steps. Durations are in milliseconds. */
export interface DrillReport {
  backup: { tool: string; bytes: number; durationMs: number };
  /** From the loss of the site until the new one was ready. */
  recovery: {
    storesMs: number;
    restoreMs: number;
    migrateMs: number;
    checkMs: number;
    startMs: number;
    totalMs: number;
  };
  /** Generations that were queued in the backup, and the time until the last one had ended. */
  settled: { generations: number; durationMs: number };
  /** Top-ups paid after the backup, some of them opened after it, and those of them that were fetched again. */
  payments: { made: number; fetched: number; durationMs: number };
  /** Rows that were written after the backup and are gone. */
  lost: { accounts: number; generations: number; credits: number };
  /** Differences between Stripe and the restored database. */
  differences: string[];
}

/**
 * Rehearses the loss of Postgres and Redis: backs up a service in use, lets it go on, destroys it, restores the backup
 * on new stores with an empty Redis, and measures what it took and what is lost.
 */
export async function runDrill(log: (line: string) => void): Promise<DrillReport> {
  const folder = createScratchFolder('drill-');
  const closers = new Closers();
  try {
    const stripe = await new FakeStripe().start();
    closers.add(() => stripe.stop());
    const upstream = await new FakeUpstream().start();
    closers.add(() => upstream.stop());
    const old = await openSite(join(folder, 'old'), stripe, upstream);
    closers.add(() => old.destroy());

    log('starting a service and using it');
    await old.runProgram(RELEASE);
    await old.startService();
    const customer = await createDrillCustomer(old.baseUrl);
    await subscribe(stripe, customer, 'studio');
    await waitForEvents(old.databaseUrl);
    await customer.createImages(GENERATIONS);
    await waitForGenerations(old.databaseUrl);
    upstream.outcome = 'wait';
    await customer.createImages(GENERATIONS);
    const openPage = await customer.openCheckout('/api/billing/topup/', TOPUP);

    log('backing up');
    const { result: backup, ms: backupMs } = await measure(() => backUp(old.databaseUrl, join(folder, 'backup')));

    log('using the service for some more time');
    const second = await createDrillCustomer(old.baseUrl);
    await customer.createImages(GENERATIONS / 2);
    stripe.completeCheckout(openPage);
    stripe.completeCheckout(await customer.openCheckout('/api/billing/topup/', TOPUP));
    await stripe.drained();
    await waitForEvents(old.databaseUrl);
    const before = await count(old.databaseUrl);
    log(`destroying the site; ${second.email} and the last generations are not in the backup`);
    await old.destroy();

    const started = performance.now();
    log('restoring on new stores, with an empty Redis');
    const { result: site, ms: storesMs } = await measure(() => openSite(join(folder, 'new'), stripe, upstream));
    closers.add(() => site.destroy());
    const { ms: restoreMs } = await measure(() => backup.restore(site.databaseUrl, () => site.runProgram(RELEASE)));
    const { ms: migrateMs } = await measure(() => site.runProgram(RELEASE));
    const { ms: checkMs } = await measure(() => site.runProgram(CHECK));
    const restored = await count(site.databaseUrl);
    const { ms: startMs } = await measure(() => site.startService());
    const totalMs = performance.now() - started;

    log('settling what was queued, and fetching payments again');
    for (const { prompt } of upstream.jobs) upstream.end(prompt, 'succeeded');
    upstream.outcome = 'succeed';
    const { ms: settledMs } = await measure(() => waitForGenerations(site.databaseUrl));
    const payments = await fetchPayments(site, restored.topups, before.topups);
    const differences = await compare(stripe, site.databaseUrl);
    await site.runProgram(CHECK);
    return {
      backup: { tool: backup.tool, bytes: backup.bytes, durationMs: backupMs },
      recovery: { storesMs, restoreMs, migrateMs, checkMs, startMs, totalMs },
      settled: { generations: restored.queued, durationMs: settledMs },
      payments: { ...payments, made: before.topups - restored.topups },
      lost: {
        accounts: before.accounts - restored.accounts,
        generations: before.generations - restored.generations,
        credits: before.burned - restored.burned,
      },
      differences,
    };
  } finally {
    await closers.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function measure<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const from = performance.now();
  const result = await work();
  return { result, ms: performance.now() - from };
}

async function subscribe(stripe: FakeStripe, customer: DrillCustomer, plan: string): Promise<void> {
  stripe.completeCheckout(await customer.openCheckout('/api/billing/checkout/', { plan }));
  await stripe.drained();
}

/** Runs now the jobs that fetch missed payments, which are scheduled every five minutes and every hour. */
async function fetchPayments(
  site: Site,
  known: number,
  expected: number,
): Promise<{ fetched: number; durationMs: number }> {
  const { ms } = await measure(async () => {
    await site.enqueue('billing', 'paymentEvents.backfill', 'payments.reconcile');
    await waitForEvents(site.databaseUrl, expected);
  });
  return { fetched: (await count(site.databaseUrl)).topups - known, durationMs: ms };
}

async function count(databaseUrl: string) {
  const [row] = await query<Record<'accounts' | 'generations' | 'queued' | 'topups' | 'burned', number>>(
    databaseUrl,
    `SELECT (SELECT count(*) FROM accounts)::int AS accounts, (SELECT count(*) FROM generations)::int AS generations,
            (SELECT count(*) FROM generations WHERE status = 'queued')::int AS queued,
            (SELECT count(*) FROM topups WHERE status = 'succeeded')::int AS topups,
            (SELECT coalesce(-sum(amount), 0) FROM ledger_entries WHERE entry_type = 'burn')::int AS burned`,
  );
  if (row === undefined) throw new Error('The database returned no counts.');
  return row;
}

async function waitForGenerations(databaseUrl: string): Promise<void> {
  await settle('generations are still queued', async () => (await count(databaseUrl)).queued === 0);
}

/** Resolves when every payment event was processed, and at least `topups` top-ups are paid. */
async function waitForEvents(databaseUrl: string, topups = 0): Promise<void> {
  await settle('payments were not processed', async () => {
    const [row] = await query<{ pending: number }>(
      databaseUrl,
      `SELECT count(*)::int AS pending FROM tasks WHERE kind = 'payment.event' AND run_at IS NOT NULL`,
    );
    return row?.pending === 0 && (await count(databaseUrl)).topups >= topups;
  });
}

async function settle(problem: string, isDone: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + SETTLE_TIMEOUT_MS;
  while (!(await isDone())) {
    if (performance.now() > until) throw new Error(`After ${SETTLE_TIMEOUT_MS} ms ${problem}.`);
    await delay(POLL_INTERVAL_MS);
  }
}

async function compare(stripe: FakeStripe, databaseUrl: string): Promise<string[]> {
  const client = await connectTo(databaseUrl);
  try {
    const found = await compareStripeWithDatabase(stripe.summarize(), client);
    return found.map(({ statement, subject, detail }) => `${statement} ${subject}: ${detail}`);
  } finally {
    await client.end();
  }
}
