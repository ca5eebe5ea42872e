import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { checkInvariants, historyOf, type Violation } from '../../shared/domain/invariants/index.ts';
import { compareBooks as compareStripe } from '../standins/stripe/compare.ts';
import { waitUntil } from '../servers/processes.ts';
import { breakThings, type DoneFault } from './break.ts';
import { type Clients, compareBooks, compareCharges, countAnswers, startClients } from './clients/clients.ts';
import { compareUpstream } from './compareUpstream.ts';
import { overdueRefunds, whatIsUnderWay } from './quiet.ts';
import { randomFrom } from '../random.ts';
import { scheduleOf } from './schedule.ts';
import { brokenPromises, type MeasuredPromise, measurePromises } from './promises.ts';
import { findSlow } from './slow.ts';
import { type SpeedWatch, watchSpeed } from './speed.ts';
import { setStage, type Stage } from './stage.ts';
import { type Stall, watchForStalls } from './stalls.ts';
import { keepFirst, type Memory, startWatch } from './watch.ts';

export interface RunOptions {
  seed: number;
  seconds: number;
  accounts: number;
  clients: number;
  isCalm: boolean;
  keeps: boolean;
  /** Where the build is, and what is run in its database first. */
  build: string;
  sql: string[];
  /** Violations after which nothing more is to be learnt: the run ends with the first of them that is seen on the way. */
  isEnough?: (violation: Violation) => boolean;
  say: (line: string) => void;
  /** Each fault as it is done. */
  sayFault: (line: string) => void;
}

/** What a run came to. */
export interface Outcome {
  seed: number;
  seconds: number;
  how: string;
  faults: DoneFault[];
  /** By kind of request, by answer. */
  answers: Map<string, Map<string, number>>;
  generations: number;
  checks: number;
  /** From healing to the first request and to the first order that succeeded, and until all had settled; null: never. */
  firstSuccessMs: number | null;
  firstCreateMs: number | null;
  settledMs: number | null;
  /** What is promised in wall-clock time; none where the run was to find something else. */
  promises: MeasuredPromise[];
  memory: Memory;
  /** When the machine had no time for the run itself. */
  stalls: readonly Stall[];
  violations: Violation[];
  /** By account, of those that violations name. */
  histories: Map<string, string[]>;
  /** What could not be done on this machine, and why. */
  notDone: string[];
  /** Where its logs are, if they were kept. */
  folder: string | null;
}

const FIRST_CUSTOMERS = 3;
const SETTLING_IN_MS = 40_000;
const GOAL_FIRST_SUCCESS_MS = 10_000;
const GOAL_SETTLED_MS = 120_000;
const LONGEST_SETTLING_MS = 180_000;
/** After which all has come round that is looked at every ten minutes, such as payouts, or more often. */
const ELEVEN_MINUTES_MS = 11 * 60_000;
/** How long after healing an owed refund may still be due: its sweep runs every 30 s. */
const REFUNDS_PAID_MS = 60_000;
const HOUR_MS = 65 * 60_000;

/** One run: customers come, things break, are healed, and everything is counted. */
export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, seconds, say } = options;
  const random = randomFrom(seed);
  const stage = await setStage({ random: random.fork('stage'), build: options.build, sql: options.sql });
  const watchForTime = watchForStalls();
  const { stalls } = watchForTime;
  const speed = watchSpeed();
  let keeps = true;
  try {
    await untilUp(stage);
    say(`seed ${seed}: the service is up`);
    Object.assign(stage.stripe.delivery, { drop: 0.05, duplicate: 0.3, reorder: true, delayMs: 50, parallel: 4 });
    const clients = startClients({
      addresses: stage.addresses,
      stripe: stage.stripe,
      random: random.fork('clients'),
      accounts: options.accounts,
      clients: options.clients,
      now: () => stage.now(),
      isRush: () => stage.isRush,
    });
    await waitUntil(() => clients.ready() >= Math.min(FIRST_CUSTOMERS, options.accounts), SETTLING_IN_MS);
    say(`${clients.ready()} customers are ready`);
    const enough = new AbortController();
    const watch = startWatch(stage, clients.books, (violation) => {
      if (options.isEnough?.(violation) === true) enough.abort();
    });
    const forPromises: DoneFault[] = [];
    let promises: MeasuredPromise[] = [];
    if (options.isEnough === undefined) {
      say('measuring what is promised in wall-clock time');
      promises = await measurePromises(stage, clients.books, speed, forPromises);
      await untilUp(stage);
    }
    say(options.isCalm ? `nothing is broken for ${seconds} s` : `breaking things for ${seconds} s`);
    const faults = [...forPromises, ...(await breakFor(options, stage, enough.signal))];
    const healed = enough.signal.aborted ? NOT_HEALED : await heal(stage, clients);
    await watch.stop();
    await clients.stop();
    const found = [...watch.violations];
    let settledMs: number | null = null;
    if (enough.signal.aborted) found.push(...clients.books.violations);
    else {
      say('everything behaves again: waiting until all has settled');
      settledMs = await settle(stage, healed.at, found, speed, options.isEnough);
      if (!found.some((violation) => options.isEnough?.(violation) === true)) {
        say('counting everything');
        found.push(...(await countEverything(stage, clients, faults, stalls, speed)), ...latenessOf(healed));
      }
      found.push(...brokenPromises(promises));
    }
    const violations: Violation[] = [];
    for (const violation of found) keepFirst(violations, violation);
    const outcome: Outcome = {
      seed,
      seconds,
      how: stage.how,
      faults,
      answers: countAnswers(clients.books),
      generations: clients.books.generations.size,
      checks: watch.checks,
      firstSuccessMs: healed.firstSuccessMs,
      firstCreateMs: healed.firstCreateMs,
      settledMs,
      promises,
      memory: watch.memory,
      stalls,
      violations,
      histories: await historiesOf(stage, violations),
      notDone: stage.diskProblem === null ? [] : [`Postgres out of disk: ${stage.diskProblem}`],
      folder: null,
    };
    keeps = options.keeps || violations.length > 0;
    return { ...outcome, folder: keeps ? stage.folder : null };
  } finally {
    watchForTime.stop();
    speed.stop();
    await stage.close(keeps);
  }
}

/** Breaks what is planned, for as long as it was asked for. @param enough ends it before. */
async function breakFor({ seed, seconds, isCalm, sayFault }: RunOptions, stage: Stage, enough: AbortSignal) {
  const planned = isCalm ? [] : scheduleOf(seed, 1_000 * seconds);
  const [done] = await Promise.all([
    breakThings(stage, planned, seed, sayFault, enough),
    delay(1_000 * seconds, undefined, { signal: enough }).catch(() => {}),
  ]);
  return done;
}

/** Waits until the service takes orders. */
async function untilUp({ addresses }: Stage): Promise<void> {
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
  if (!(await waitUntil(areUp, 60_000))) throw new Error('The service did not come up within a minute: see its logs.');
}

interface Healed {
  at: number;
  firstSuccessMs: number | null;
  firstCreateMs: number | null;
}

const NOT_HEALED: Healed = { at: 0, firstSuccessMs: null, firstCreateMs: null };

/** Everything behaves again; the clients go on until an order has succeeded, half a minute at most. */
async function heal(stage: Stage, clients: Clients): Promise<Healed> {
  const { stripe } = stage;
  // Nothing is dropped, repeated or shuffled any more; what was dropped stays so.
  stripe.behave();
  // An error that it keeps is over after a day only; nobody waits for so long here.
  stripe.forgetErrors();
  stage.passTime(ELEVEN_MINUTES_MS);
  clients.calm();
  const healed: Healed = { at: Date.now(), firstSuccessMs: null, firstCreateMs: null };
  const ordered = new AbortController();
  clients.books.onAnswer = ({ at, kind, status, durationMs }) => {
    if (at < healed.at || typeof status !== 'number' || status >= 300) return;
    healed.firstSuccessMs ??= at + durationMs - healed.at;
    if (!kind.startsWith('create') || status !== 201) return;
    healed.firstCreateMs ??= at + durationMs - healed.at;
    ordered.abort();
  };
  await Promise.race([once(ordered.signal, 'abort'), delay(30_000, undefined, { signal: ordered.signal })]).catch(
    () => {},
  );
  clients.books.onAnswer = undefined;
  return healed;
}

/**
 * Waits for what is under way, or until enough is known.
 * @returns how long that took since healing, in milliseconds; null if it goes on.
 */
async function settle(
  stage: Stage,
  healedAt: number,
  found: Violation[],
  speed: SpeedWatch,
  isEnough?: RunOptions['isEnough'],
): Promise<number | null> {
  const client = await connect(stage);
  try {
    let underWay: string[] = [];
    let isRefundOverdue = false;
    const lookForRefunds = async () => {
      const paidMs = Math.min(1.5, speed.slownessBetween(healedAt, Date.now())) * REFUNDS_PAID_MS;
      if (isRefundOverdue || Date.now() < healedAt + paidMs) return;
      const overdue = await overdueRefunds(client, new Date(stage.now().getTime() - paidMs));
      found.push(...overdue);
      isRefundOverdue = overdue.length > 0;
    };
    const isQuiet = async () => {
      await lookForRefunds();
      if (isEnough !== undefined && found.some(isEnough)) return true;
      underWay = await whatIsUnderWay(client, stage);
      return underWay.length === 0;
    };
    const isSettled = await waitUntil(isQuiet, isEnough === undefined ? LONGEST_SETTLING_MS : GOAL_SETTLED_MS);
    if (isEnough !== undefined && found.some(isEnough)) return null;
    const settledMs = isSettled ? Date.now() - healedAt : null;
    if (settledMs === null || settledMs > GOAL_SETTLED_MS) {
      found.push(missed('all-settled', 'Everything has settled within 120 s of healing.', settledMs, underWay));
    }
    await stage.stripe.settled().catch((error: Error) => {
      found.push({ ...missed('events-are-taken', 'Every event that is told is taken.', null), detail: error.message });
    });
    // Whatever is looked at again by the hour has its turn, too.
    stage.passTime(HOUR_MS);
    await delay(3_000);
    await waitUntil(isQuiet, 60_000);
    return settledMs;
  } finally {
    await client.end();
  }
}

function latenessOf({ firstSuccessMs }: Healed): Violation[] {
  if (firstSuccessMs !== null && firstSuccessMs <= GOAL_FIRST_SUCCESS_MS) return [];
  return [missed('first-success', 'The first request succeeds within 10 s of healing.', firstSuccessMs)];
}

function missed(invariant: string, says: string, ms: number | null, underWay: string[] = []): Violation {
  const detail = [ms === null ? 'never' : `${Math.round(ms)} ms`, ...underWay].join(', ');
  return { invariant, says, accountId: null, subject: 'the run', detail };
}

/** All that must hold when everything has settled. */
async function countEverything(
  stage: Stage,
  clients: Clients,
  faults: DoneFault[],
  stalls: readonly Stall[],
  speed: SpeedWatch,
): Promise<Violation[]> {
  const client = await connect(stage);
  try {
    const quiet = await clients.checkQuiet();
    return [
      ...(await checkInvariants(client, { isSettled: true, now: stage.now() })),
      ...(await compareStripe(stage.stripe.books(), client)),
      ...(await compareUpstream(stage.upstream.jobs, client)),
      ...(await compareBooks(clients.books, client)),
      ...(await compareCharges(clients.books, client)),
      ...quiet,
      ...findSlow(clients.books.requests, faults, stage.addresses, stalls, speed),
      ...stage.endedByThemselves.map((detail) => ({
        invariant: 'processes-go-on',
        says: 'No process ends by itself.',
        accountId: null,
        subject: detail,
        detail: `see ${stage.folder}/logs`,
      })),
    ];
  } finally {
    await client.end();
  }
}

async function historiesOf(stage: Stage, violations: Violation[]): Promise<Map<string, string[]>> {
  const accounts = new Set(violations.map(({ accountId }) => accountId).filter((id) => id !== null));
  const client = await connect(stage);
  const histories = new Map<string, string[]>();
  try {
    for (const id of accounts) histories.set(id, await historyOf(client, id));
  } finally {
    await client.end();
  }
  return histories;
}

async function connect({ databaseUrl }: Stage): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  return client;
}
