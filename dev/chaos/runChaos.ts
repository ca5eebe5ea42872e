import { setTimeout as delay } from 'node:timers/promises';
import type { Violation } from '../../shared/domain/integrity/index.ts';
import { waitUntil } from '../local/servers/processes.ts';
import { injectFaults, type InjectedFault } from './injectFaults.ts';
import {
  APPLICATION_CALL,
  countLimited,
  countResponses,
  countWebhooks,
  LIMITED_CREATE,
  type LimitedCounts,
  startChaosClients,
  type WebhookCounts,
} from './clients/clients.ts';
import { checkFirstSuccess, heal, NOT_HEALED, waitUntilDrained } from './heal.ts';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import { buildSchedule } from './schedule.ts';
import { findBrokenGuarantees, type MeasuredGuarantee, measureGuarantees } from './timeGuarantees.ts';
import { watchMachineSpeed } from './speedWatch.ts';
import { startChaosEnvironment, type ChaosEnvironment } from './environment.ts';
import { type Stall, watchStalls } from './stalls.ts';
import { addDistinct, type MemorySamples, startIntegrityWatch } from './integrityWatch.ts';
import { checkEverything, readHistories } from './verify.ts';

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
  webhooks: WebhookCounts;
  /** Creates with a spending limit, of keys and of applications: those accepted, and those rejected because of it. */
  limited: { keys: LimitedCounts; applications: LimitedCounts };
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
/** Runs once: onboards customers, injects faults, heals, and verifies everything. */
export async function runChaos(options: ChaosRunOptions): Promise<ChaosOutcome> {
  const { seed, seconds, log } = options;
  const random = createSeededRandom(seed);
  const environment = await startChaosEnvironment({
    random: random.fork('environment'),
    build: options.build,
    sql: options.sql,
    // The checks before a decision hide what the charge misses, so that half of the runs are not moderated.
    isModerated: seed % 2 === 0,
  });
  const watchForTime = watchStalls();
  const { stalls } = watchForTime;
  const speed = watchMachineSpeed();
  let keepsFiles = true;
  try {
    await waitUntilUp(environment);
    log(`seed ${seed}: the service is up`);
    Object.assign(environment.stripe.delivery, { drop: 0.05, duplicate: 0.3, reorder: true, delayMs: 50, parallel: 4 });
    if (options.isCalm) {
      await environment.receiver.setCalm();
      environment.mailReceiver.setCalm();
    } else environment.receiver.startOutages();
    const clients = startChaosClients({
      addresses: environment.addresses,
      stripe: environment.stripe,
      receiver: environment.receiver,
      random: random.fork('clients'),
      accounts: options.accounts,
      clients: options.clients,
      runAdmin: (args) => environment.runAdmin(args),
      now: () => environment.now(),
      isRush: () => environment.isRush,
      haveClocksAgreedSince: (time) => environment.clocks.haveAgreedSince(time),
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
          ...checkFirstSuccess(healed, speed),
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
      webhooks: countWebhooks(clients.store),
      limited: {
        keys: countLimited(clients.store, LIMITED_CREATE),
        applications: countLimited(clients.store, APPLICATION_CALL),
      },
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
          (response) => response.text(),
          () => '',
        ),
      ),
    );
    return models.every((body) => body.includes('"online"'));
  };
  if (!(await waitUntil(areUp, 60_000))) throw new Error('The service was not ready within a minute: see its logs.');
}
