import { setTimeout as delay } from 'node:timers/promises';
import type { Violation } from '../../shared/domain/integrity/index.ts';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import { waitUntil } from '../local/servers/processes.ts';
import { addDistinct, checkEverything, readHistories } from './checks.ts';
import { startChaosClients } from './clients/clients.ts';
import type { Journal } from './clients/journal.ts';
import { type ChaosEnvironment, startChaosEnvironment } from './environment.ts';
import { checkFirstSuccess, heal, type HealResult, NOT_HEALED, waitUntilDrained } from './heal.ts';
import { injectFaults, type InjectedFault } from './injectFaults.ts';
import { type MemorySamples, startIntegrityWatch } from './integrityWatch.ts';
import { type Stall, watchMachine } from './machineWatch.ts';
import { buildSchedule } from './schedule.ts';
import { findSlowRequests } from './slowRequests.ts';
import { findBrokenGuarantees, type MeasuredGuarantee, measureGuarantees } from './timeGuarantees.ts';

export interface ChaosRunOptions {
  seed: number;
  /** Duration of the fault phase. */
  seconds: number;
  accounts: number;
  clients: number;
  /** No faults, to measure throughput and memory growth. */
  isCalm?: boolean;
  /** Folder of the build, and statements to run in its database first. */
  build: string;
  sql?: string[];
  /** Selects violations that answer the question of the run: it ends with the first of them. */
  isSufficient?: (violation: Violation) => boolean;
  log?: (line: string) => void;
  /** Called with each injected fault. */
  logFault?: (line: string) => void;
}

/** Results of a run. */
export interface ChaosOutcome {
  seed: number;
  seconds: number;
  description: string;
  faults: InjectedFault[];
  journal: Journal;
  checks: number;
  /** Times from healing to the first successful request and create. */
  healed: HealResult;
  /** Time from healing until all work had settled; null: never. */
  drainedMs: number | null;
  /** Guarantees in wall-clock time; empty if the run looked for something else. */
  guarantees: MeasuredGuarantee[];
  memory: MemorySamples;
  /** Periods in which this process was not scheduled. */
  stalls: readonly Stall[];
  violations: Violation[];
  /** Histories of the accounts in violations, by account. */
  histories: Map<string, string[]>;
  /** Why Postgres was never out of disk; null if it could be. */
  diskProblem: string | null;
  /** Folder of the logs, if they were kept: after a violation. */
  folder: string | null;
}

const MIN_READY_CUSTOMERS = 3;
const ONBOARDING_TIMEOUT_MS = 40_000;

/** Runs once: onboards customers, injects faults, heals, and verifies everything. */
export async function runChaos(options: ChaosRunOptions): Promise<ChaosOutcome> {
  const { seed, seconds, log = () => {}, isCalm = false, isSufficient } = options;
  const random = createSeededRandom(seed);
  const environment = await startChaosEnvironment({
    random: random.fork('environment'),
    build: options.build,
    sql: options.sql ?? [],
    // The checks before a decision hide what the charge misses, so that half of the runs are not moderated.
    isModerated: seed % 2 === 0,
  });
  const machine = watchMachine();
  let keepsLogs = true;
  try {
    await waitUntilUp(environment);
    log(`seed ${seed}: the service is up`);
    Object.assign(environment.stripe.delivery, { drop: 0.05, duplicate: 0.3, reorder: true, delayMs: 50, parallel: 4 });
    if (isCalm) {
      await environment.receiver.setCalm();
      environment.mailReceiver.setCalm();
    } else environment.receiver.startOutages();
    const clients = startChaosClients({
      accounts: options.accounts,
      clients: options.clients,
      random: random.fork('clients'),
      addresses: environment.addresses,
      stripe: environment.stripe,
      receiver: environment.receiver,
      runAdmin: (args) => environment.runAdmin(args),
      now: () => environment.now(),
      isRush: () => environment.isRush,
      haveClocksAgreedSince: (time) => environment.clocks.haveAgreedSince(time),
    });
    const { journal } = clients;
    const wanted = Math.min(MIN_READY_CUSTOMERS, options.accounts);
    await waitUntil(() => clients.countReady() >= wanted, ONBOARDING_TIMEOUT_MS);
    log(`${clients.countReady()} customers are ready`);
    const sufficient = new AbortController();
    const watch = startIntegrityWatch(environment, journal, (violation) => {
      if (isSufficient?.(violation) === true) sufficient.abort();
    });
    const faults: InjectedFault[] = [];
    let guarantees: MeasuredGuarantee[] = [];
    if (isSufficient === undefined) {
      log('measuring guarantees in wall-clock time');
      guarantees = await measureGuarantees(environment, journal, machine, faults);
      await waitUntilUp(environment);
    }
    log(isCalm ? `running without faults for ${seconds} s` : `injecting faults for ${seconds} s`);
    const planned = isCalm ? [] : buildSchedule(seed, 1_000 * seconds);
    const [injected] = await Promise.all([
      injectFaults(environment, planned, seed, options.logFault ?? (() => {}), sufficient.signal),
      delay(1_000 * seconds, undefined, { signal: sufficient.signal }).catch(() => {}),
    ]);
    faults.push(...injected);
    const healed = sufficient.signal.aborted ? NOT_HEALED : await heal(environment, clients);
    await watch.stop();
    await clients.stop();
    const found = [...watch.violations];
    let drainedMs: number | null = null;
    if (sufficient.signal.aborted) found.push(...journal.violations);
    else {
      log('all faults are removed: waiting until all work has settled');
      drainedMs = await waitUntilDrained(environment, healed.at, found, machine, isSufficient);
      if (!found.some((violation) => isSufficient?.(violation) === true)) {
        log('counting everything');
        await clients.checkDrained();
        found.push(
          ...(await checkEverything(environment, journal)),
          ...findSlowRequests(journal.requests, faults, environment.addresses, machine.stalls, machine),
          ...checkFirstSuccess(healed, machine),
        );
      }
      found.push(...findBrokenGuarantees(guarantees));
    }
    const violations: Violation[] = [];
    for (const violation of found) addDistinct(violations, violation);
    const histories = await readHistories(environment.databaseUrl, violations);
    keepsLogs = violations.length > 0;
    return {
      seed,
      seconds,
      faults,
      journal,
      healed,
      drainedMs,
      guarantees,
      violations,
      histories,
      description: environment.description,
      checks: watch.checks,
      memory: watch.memory,
      stalls: machine.stalls,
      diskProblem: environment.diskProblem,
      folder: keepsLogs ? environment.folder : null,
    };
  } finally {
    machine.stop();
    await environment.close(keepsLogs);
  }
}

async function isUp(address: string): Promise<boolean> {
  const response = await fetch(`${address}/api/models/`).catch(() => null);
  return (await response?.text())?.includes('"online"') === true;
}

/** Waits until the service accepts creates. */
async function waitUntilUp({ addresses }: ChaosEnvironment): Promise<void> {
  const areUp = async () => (await Promise.all(addresses.map(isUp))).every(Boolean);
  if (!(await waitUntil(areUp, 60_000))) throw new Error('The service was not ready within a minute: see its logs.');
}
