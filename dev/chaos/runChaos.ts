import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { checkInvariants, readAccountHistory, type Violation } from '../../shared/domain/credits/integrity/index.ts';
import { compareStripeWithDatabase as compareStripe } from '../../test/fakes/stripe/compareWithDatabase.ts';
import { waitUntil } from '../local/servers/processes.ts';
import { injectFaults, type InjectedFault } from './injectFaults.ts';
import {
  type ChaosClients,
  compareClientStore,
  compareAutoTopups,
  countResponses,
  startChaosClients,
} from './clients/clients.ts';
import { compareUpstream } from './compareUpstream.ts';
import { findOverdueRefunds, listPendingWork } from './drained.ts';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import { buildSchedule } from './schedule.ts';
import { findBrokenGuarantees, type MeasuredGuarantee, measureGuarantees } from './timeGuarantees.ts';
import { findSlowRequests } from './slowRequests.ts';
import { type SpeedWatch, watchMachineSpeed } from './speedWatch.ts';
import { startChaosEnvironment, type ChaosEnvironment } from './environment.ts';
import { type Stall, watchStalls } from './stalls.ts';
import { addDistinct, type MemorySamples, startIntegrityWatch } from './integrityWatch.ts';

export interface ChaosRunOptions {
  seed: number;
  seconds: number;
  accounts: number;
  clients: number;
  isCalm: boolean;
  keepsFiles: boolean;
  /** Folder of the build, and statements to run in its database first. */
  build: string;
  sql: string[];
  /** Selects violations that answer the question of the run: it ends with the first of them. */
  isSufficient?: (violation: Violation) => boolean;
  log: (line: string) => void;
  /** Called with each injected fault. */
  logFault: (line: string) => void;
}

/** Results of a run. */
export interface ChaosOutcome {
  seed: number;
  seconds: number;
  description: string;
  faults: InjectedFault[];
  /** Counts by kind of request and response. */
  responses: Map<string, Map<string, number>>;
  generations: number;
  checks: number;
  /**
   * Times from healing to the first successful request, to the first successful create, and until all work had settled;
   * null: never.
   */
  firstSuccessMs: number | null;
  firstCreateMs: number | null;
  drainedMs: number | null;
  /** Guarantees in wall-clock time; empty if the run looked for something else. */
  guarantees: MeasuredGuarantee[];
  memory: MemorySamples;
  /** Periods in which this process was not scheduled. */
  stalls: readonly Stall[];
  violations: Violation[];
  /** Histories of the accounts in violations, by account. */
  histories: Map<string, string[]>;
  /** Faults that this machine does not support, with the reason. */
  skippedFaults: string[];
  /** Folder of the logs, if they were kept. */
  folder: string | null;
}

const MIN_READY_CUSTOMERS = 3;
const ONBOARDING_TIMEOUT_MS = 40_000;
const FIRST_SUCCESS_LIMIT_MS = 10_000;
const DRAINED_LIMIT_MS = 120_000;
const DRAIN_TIMEOUT_MS = 180_000;
/** Advances past everything with a period of ten minutes or less, such as payouts. */
const ELEVEN_MINUTES_MS = 11 * 60_000;
/** An owed refund may still be due this long after healing: its sweep runs every 30 s. */
const OWED_REFUND_LIMIT_MS = 60_000;
const OVER_AN_HOUR_MS = 65 * 60_000;

/** Runs once: onboards customers, injects faults, heals, and verifies everything. */
export async function runChaos(options: ChaosRunOptions): Promise<ChaosOutcome> {
  const { seed, seconds, log } = options;
  const random = createSeededRandom(seed);
  const environment = await startChaosEnvironment({
    random: random.fork('stage'),
    build: options.build,
    sql: options.sql,
  });
  const watchForTime = watchStalls();
  const { stalls } = watchForTime;
  const speed = watchMachineSpeed();
  let keepsFiles = true;
  try {
    await waitUntilUp(environment);
    log(`seed ${seed}: the service is up`);
    Object.assign(environment.stripe.delivery, { drop: 0.05, duplicate: 0.3, reorder: true, delayMs: 50, parallel: 4 });
    const clients = startChaosClients({
      addresses: environment.addresses,
      stripe: environment.stripe,
      random: random.fork('clients'),
      accounts: options.accounts,
      clients: options.clients,
      now: () => environment.now(),
      isRush: () => environment.isRush,
    });
    await waitUntil(
      () => clients.countReady() >= Math.min(MIN_READY_CUSTOMERS, options.accounts),
      ONBOARDING_TIMEOUT_MS,
    );
    log(`${clients.countReady()} customers are ready`);
    const sufficient = new AbortController();
    const watch = startIntegrityWatch(environment, clients.store, (violation) => {
      if (options.isSufficient?.(violation) === true) sufficient.abort();
    });
    const guaranteeFaults: InjectedFault[] = [];
    let guarantees: MeasuredGuarantee[] = [];
    if (options.isSufficient === undefined) {
      log('measuring guarantees in wall-clock time');
      guarantees = await measureGuarantees(environment, clients.store, speed, guaranteeFaults);
      await waitUntilUp(environment);
    }
    log(options.isCalm ? `running without faults for ${seconds} s` : `injecting faults for ${seconds} s`);
    const faults = [...guaranteeFaults, ...(await injectPlannedFaults(options, environment, sufficient.signal))];
    const healed = sufficient.signal.aborted ? NOT_HEALED : await heal(environment, clients);
    await watch.stop();
    await clients.stop();
    const found = [...watch.violations];
    let drainedMs: number | null = null;
    if (sufficient.signal.aborted) found.push(...clients.store.violations);
    else {
      log('all faults are removed: waiting until all work has settled');
      drainedMs = await waitUntilDrained(environment, healed.at, found, speed, options.isSufficient);
      if (!found.some((violation) => options.isSufficient?.(violation) === true)) {
        log('counting everything');
        found.push(
          ...(await checkEverything(environment, clients, faults, stalls, speed)),
          ...checkFirstSuccess(healed),
        );
      }
      found.push(...findBrokenGuarantees(guarantees));
    }
    const violations: Violation[] = [];
    for (const violation of found) addDistinct(violations, violation);
    const outcome: ChaosOutcome = {
      seed,
      seconds,
      description: environment.description,
      faults,
      responses: countResponses(clients.store),
      generations: clients.store.generations.size,
      checks: watch.checks,
      firstSuccessMs: healed.firstSuccessMs,
      firstCreateMs: healed.firstCreateMs,
      drainedMs,
      guarantees,
      memory: watch.memory,
      stalls,
      violations,
      histories: await readHistories(environment, violations),
      skippedFaults: environment.diskProblem === null ? [] : [`Postgres disk full: ${environment.diskProblem}`],
      folder: null,
    };
    keepsFiles = options.keepsFiles || violations.length > 0;
    return { ...outcome, folder: keepsFiles ? environment.folder : null };
  } finally {
    watchForTime.stop();
    speed.stop();
    await environment.close(keepsFiles);
  }
}

/** Injects the planned faults for the requested time. @param enough ends it early. */
async function injectPlannedFaults(
  { seed, seconds, isCalm, logFault }: ChaosRunOptions,
  environment: ChaosEnvironment,
  enough: AbortSignal,
) {
  const planned = isCalm ? [] : buildSchedule(seed, 1_000 * seconds);
  const [done] = await Promise.all([
    injectFaults(environment, planned, seed, logFault, enough),
    delay(1_000 * seconds, undefined, { signal: enough }).catch(() => {}),
  ]);
  return done;
}

/** Waits until the service accepts creates. */
async function waitUntilUp({ addresses }: ChaosEnvironment): Promise<void> {
  const areUp = async () => {
    const models = await Promise.all(
      addresses.map((address) =>
        fetch(`${address}/api/models/`).then(
          (answer) => answer.text(),
          () => '',
        ),
      ),
    );
    return models.every((body) => body.includes('"online"'));
  };
  if (!(await waitUntil(areUp, 60_000))) throw new Error('The service was not ready within a minute: see its logs.');
}

interface HealResult {
  at: number;
  firstSuccessMs: number | null;
  firstCreateMs: number | null;
}

const NOT_HEALED: HealResult = { at: 0, firstSuccessMs: null, firstCreateMs: null };

/** Removes all faults; clients continue until a create has succeeded, for half a minute at most. */
async function heal(environment: ChaosEnvironment, clients: ChaosClients): Promise<HealResult> {
  const { stripe } = environment;
  // No event is dropped, repeated or reordered any more; dropped ones stay lost.
  stripe.reset();
  // A saved error expires only after a day, which is too long to wait here.
  stripe.deleteSavedErrors();
  environment.advanceTime(ELEVEN_MINUTES_MS);
  clients.setCalm();
  const healed: HealResult = { at: Date.now(), firstSuccessMs: null, firstCreateMs: null };
  const ordered = new AbortController();
  clients.store.onResponse = ({ at, kind, status, durationMs }) => {
    if (at < healed.at || typeof status !== 'number' || status >= 300) return;
    healed.firstSuccessMs ??= at + durationMs - healed.at;
    if (!kind.startsWith('create') || status !== 201) return;
    healed.firstCreateMs ??= at + durationMs - healed.at;
    ordered.abort();
  };
  await Promise.race([once(ordered.signal, 'abort'), delay(30_000, undefined, { signal: ordered.signal })]).catch(
    () => {},
  );
  clients.store.onResponse = undefined;
  return healed;
}

/**
 * Waits for pending work, or until enough is known.
 * @returns the time since healing in milliseconds; null if it never settled.
 */
async function waitUntilDrained(
  environment: ChaosEnvironment,
  healedAt: number,
  found: Violation[],
  speed: SpeedWatch,
  isEnough?: ChaosRunOptions['isSufficient'],
): Promise<number | null> {
  const client = await connectToDatabase(environment);
  try {
    let pendingWork: string[] = [];
    let isRefundOverdue = false;
    const checkRefunds = async () => {
      const paidMs = Math.min(1.5, speed.slownessBetween(healedAt, Date.now())) * OWED_REFUND_LIMIT_MS;
      if (isRefundOverdue || Date.now() < healedAt + paidMs) return;
      const overdue = await findOverdueRefunds(client, new Date(environment.now().getTime() - paidMs));
      found.push(...overdue);
      isRefundOverdue = overdue.length > 0;
    };
    const isDrained = async () => {
      await checkRefunds();
      if (isEnough !== undefined && found.some(isEnough)) return true;
      pendingWork = await listPendingWork(client, environment);
      return pendingWork.length === 0;
    };
    const isSettled = await waitUntil(isDrained, isEnough === undefined ? DRAIN_TIMEOUT_MS : DRAINED_LIMIT_MS);
    if (isEnough !== undefined && found.some(isEnough)) return null;
    const settledMs = isSettled ? Date.now() - healedAt : null;
    if (settledMs === null || settledMs > DRAINED_LIMIT_MS) {
      found.push(
        buildMissedGoal('all-settled', 'Everything has settled within 120 s of healing.', settledMs, pendingWork),
      );
    }
    await environment.stripe.drained().catch((error: Error) => {
      found.push({
        ...buildMissedGoal('events-are-delivered', 'Every event is delivered.', null),
        detail: error.message,
      });
    });
    // Includes the hourly checks.
    environment.advanceTime(OVER_AN_HOUR_MS);
    await delay(3_000);
    await waitUntil(isDrained, 60_000);
    return settledMs;
  } finally {
    await client.end();
  }
}

function checkFirstSuccess({ firstSuccessMs }: HealResult): Violation[] {
  if (firstSuccessMs !== null && firstSuccessMs <= FIRST_SUCCESS_LIMIT_MS) return [];
  return [buildMissedGoal('first-success', 'The first request succeeds within 10 s of healing.', firstSuccessMs)];
}

function buildMissedGoal(
  invariant: string,
  statement: string,
  ms: number | null,
  pendingWork: string[] = [],
): Violation {
  const detail = [ms === null ? 'never' : `${Math.round(ms)} ms`, ...pendingWork].join(', ');
  return { invariant, statement, accountId: null, subject: 'the run', detail };
}

/** Checks everything that must hold after all work has settled. */
async function checkEverything(
  environment: ChaosEnvironment,
  clients: ChaosClients,
  faults: InjectedFault[],
  stalls: readonly Stall[],
  speed: SpeedWatch,
): Promise<Violation[]> {
  const client = await connectToDatabase(environment);
  try {
    const drainedViolations = await clients.checkDrained();
    return [
      ...(await checkInvariants(client, { isSettled: true, now: environment.now() })),
      ...(await compareStripe(environment.stripe.summarize(), client)),
      ...(await compareUpstream(environment.upstream.jobs, client)),
      ...(await compareClientStore(clients.store, client)),
      ...(await compareAutoTopups(clients.store, client)),
      ...drainedViolations,
      ...findSlowRequests(clients.store.requests, faults, environment.addresses, stalls, speed),
      ...environment.unexpectedExits.map((detail) => ({
        invariant: 'processes-keep-running',
        statement: 'No process exits on its own.',
        accountId: null,
        subject: detail,
        detail: `see ${environment.folder}/logs`,
      })),
    ];
  } finally {
    await client.end();
  }
}

async function readHistories(environment: ChaosEnvironment, violations: Violation[]): Promise<Map<string, string[]>> {
  const accounts = new Set(violations.map(({ accountId }) => accountId).filter((id) => id !== null));
  const client = await connectToDatabase(environment);
  const histories = new Map<string, string[]>();
  try {
    for (const id of accounts) histories.set(id, await readAccountHistory(client, id));
  } finally {
    await client.end();
  }
  return histories;
}

async function connectToDatabase({ databaseUrl }: ChaosEnvironment): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  return client;
}
