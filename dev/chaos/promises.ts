import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Violation } from '../../shared/domain/invariants/index.ts';
import { waitUntil } from '../servers/processes.ts';
import type { DoneFault } from './break.ts';
import type { ClientBooks } from './clients/clients.ts';
import { DATABASE_KINDS, DATABASE_PROMISE_MS } from './slow.ts';
import type { SpeedWatch } from './speed.ts';
import type { Stage } from './stage.ts';

/** A promise in wall-clock time, as it was measured. */
export interface MeasuredPromise {
  /** Of the violation, where it is broken. */
  invariant: string;
  says: string;
  promisedMs: number;
  /** The longest; null: it did not come about within a minute. */
  measuredMs: number | null;
  /** How many were measured. */
  count: number;
  /** How many times slower the machine was meanwhile than an idle reference machine. */
  slowness: number;
}

const TAKEOVER_PROMISE_MS = 15_000;
const STOP_PROMISE_MS = 10_000;
/** The measurements are given up after so long. */
const LONGEST_MS = 60_000;
/** So many generations are to be queued when a worker is killed. */
const QUEUED = 3;
const OUTAGE_MS = 6_500;

/**
 * Measures what is promised in seconds of a wall clock, one fault after the other, while clients are at work and
 * nothing else is broken.
 * @param done gets the faults that were done for it.
 */
export async function measurePromises(
  stage: Stage,
  books: ClientBooks,
  speed: SpeedWatch,
  done: DoneFault[],
): Promise<MeasuredPromise[]> {
  const measured: MeasuredPromise[] = [];
  const measure = async (
    promise: Pick<MeasuredPromise, 'invariant' | 'says' | 'promisedMs'>,
    fault: Pick<DoneFault, 'name' | 'target'>,
    durations: () => Promise<(number | null)[]>,
  ) => {
    const entry: DoneFault = { ...fault, from: Date.now(), to: Number.POSITIVE_INFINITY };
    done.push(entry);
    const times = await durations();
    entry.to = Date.now();
    const known = times.filter((time) => time !== null);
    measured.push({
      ...promise,
      measuredMs: known.length === times.length ? Math.max(0, ...known) : null,
      count: times.length,
      slowness: speed.slownessBetween(entry.from, entry.to),
    });
  };
  await measure(TAKEOVER, { name: 'process killed', target: 'worker 1' }, () => takeovers(stage));
  await measure(OUTAGE, { name: 'Postgres out of reach', target: 'apis' }, () => answersInOutage(stage, books));
  for (const target of ['api 2', 'worker 2']) {
    await measure({ ...STOP, says: `${STOP.says} (${target})` }, { name: 'process ended', target }, async () => [
      (await stage.parts.get(target)?.restart()) ?? null,
    ]);
  }
  return measured;
}

const TAKEOVER = {
  invariant: 'taken-over-in-time',
  says: 'Generations that a killed worker held end within 15 s, and the time that the upstream runs them.',
  promisedMs: TAKEOVER_PROMISE_MS,
};
const OUTAGE = {
  invariant: 'answered-in-time',
  says: 'Requests during an outage of the database are answered within 5 s.',
  promisedMs: DATABASE_PROMISE_MS,
};
const STOP = {
  invariant: 'stopped-in-time',
  says: 'A process stops within 10 s of SIGTERM.',
  promisedMs: STOP_PROMISE_MS,
};

/** The promises that were broken, by more than the machine was slowed down. */
export function brokenPromises(measured: readonly MeasuredPromise[]): Violation[] {
  return measured
    .filter(({ measuredMs, promisedMs, slowness }) => measuredMs === null || measuredMs > promisedMs * slowness)
    .map(({ invariant, says, measuredMs, count, slowness }) => ({
      invariant,
      says,
      accountId: null,
      subject: says,
      detail: `${measuredMs === null ? 'never' : `${Math.round(measuredMs)} ms`}, the longest of ${count}, on a machine slowed down ${slowness.toFixed(1)} times`,
    }));
}

/** Kills a worker, and measures until the generations that were queued then have ended, less what the upstream took. */
async function takeovers(stage: Stage): Promise<(number | null)[]> {
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    const queued = async (): Promise<string[]> =>
      (await client.query(`SELECT uuid FROM generations WHERE status = 'queued'`)).rows.map(({ uuid }) => uuid);
    let held: string[] = [];
    await waitUntil(async () => (held = await queued()).length >= QUEUED, LONGEST_MS);
    const killedAt = Date.now();
    stage.parts.get('worker 1')?.kill();
    const endedAt = new Map<string, number>();
    await waitUntil(async () => {
      const left = new Set(await queued());
      for (const uuid of held) if (!left.has(uuid) && !endedAt.has(uuid)) endedAt.set(uuid, Date.now());
      return endedAt.size === held.length;
    }, LONGEST_MS);
    const { rows } = await client.query(
      `SELECT uuid, upstream_handle ->> 'request_id' AS run FROM generations WHERE uuid = ANY ($1::uuid[])`,
      [held],
    );
    return (rows as { uuid: string; run: string | null }[]).map(({ uuid, run }) => {
      const ended = endedAt.get(uuid);
      if (ended === undefined) return null;
      const { beganAt = killedAt, endedAt: runEndedAt = killedAt } =
        stage.upstream.jobs.find(({ id }) => id === run) ?? {};
      const ranMs = Math.min(ended, runEndedAt) - Math.max(killedAt, beganAt);
      return ended - killedAt - Math.max(0, ranMs);
    });
  } finally {
    await client.end();
  }
}

/** Cuts the web processes off from Postgres, and measures how long requests take that are under way meanwhile. */
async function answersInOutage(stage: Stage, books: ClientBooks): Promise<(number | null)[]> {
  const proxy = stage.proxies.postgres.apis;
  const from = Date.now();
  proxy.freeze();
  const probes = stage.addresses.map(async (address) => {
    const key = [...books.keys.values()].find(({ revokeAskedAt }) => revokeAskedAt === null)?.key ?? '';
    await fetch(`${address}/api/generations/`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(LONGEST_MS),
    }).then((answer) => answer.text());
    return Date.now() - from;
  });
  const probed = Promise.all(probes.map((probe) => probe.catch(() => null)));
  await delay(OUTAGE_MS);
  const until = Date.now();
  proxy.open();
  const answers = await probed;
  // Those that began shortly before the end of the outage.
  await delay(DATABASE_PROMISE_MS);
  const requests = books.requests.filter(
    ({ at, durationMs, kind }) => at < until && at + durationMs > from && DATABASE_KINDS.test(kind),
  );
  return [...answers, ...requests.map(({ at, durationMs }) => at + durationMs - Math.max(at, from))];
}
