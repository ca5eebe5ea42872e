import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Violation } from '../../shared/domain/integrity/index.ts';
import { waitUntil } from '../local/servers/processes.ts';
import type { InjectedFault } from './injectFaults.ts';
import type { Journal } from './clients/journal.ts';
import { DATABASE_REQUEST_KINDS, DATABASE_RESPONSE_LIMIT_MS } from './slowRequests.ts';
import type { SpeedWatch } from './machineWatch.ts';
import { type Rule, violate } from './rules.ts';
import type { ChaosEnvironment } from './environment.ts';

/** A guarantee in wall-clock time, with its measurement. */
export interface MeasuredGuarantee {
  invariant: Rule;
  limitMs: number;
  /** Process or connection that a fault stopped. */
  target: string;
  /** The longest duration; null if it took more than a minute. */
  measuredMs: number | null;
  /** The request, generation or process that took longest. */
  longest: string;
  /** Number of measurements. */
  count: number;
  /** Slowdown of the machine meanwhile, compared with an idle reference machine. */
  slowness: number;
}

/** A measured duration, in milliseconds; null if it was abandoned. */
interface Duration {
  of: string;
  ms: number | null;
}

/** Measurements are abandoned after this time. */
const MEASUREMENT_TIMEOUT_MS = 60_000;
/** Minimum number of queued generations when a worker is killed. */
const MIN_QUEUED = 3;
const OUTAGE_MS = 6_500;

/**
 * Measures what is guaranteed in seconds of a wall clock, one fault after the other, while clients are active and
 * nothing else is broken.
 * @param done receives the injected faults.
 */
export async function measureGuarantees(
  environment: ChaosEnvironment,
  journal: Journal,
  speed: SpeedWatch,
  done: InjectedFault[],
): Promise<MeasuredGuarantee[]> {
  const stop = async (target: string) => [
    { of: target, ms: (await environment.processes.get(target)?.restart()) ?? null },
  ];
  const guarantees: [invariant: Rule, limitMs: number, name: string, target: string, () => Promise<Duration[]>][] = [
    ['taken-over-in-time', 15_000, 'process killed', 'worker 1', () => measureTakeovers(environment)],
    [
      'responds-in-time',
      DATABASE_RESPONSE_LIMIT_MS,
      'Postgres unreachable',
      'apis',
      () => measureOutage(environment, journal),
    ],
    ['stopped-in-time', 10_000, 'process restarted', 'api 2', () => stop('api 2')],
    ['stopped-in-time', 10_000, 'process restarted', 'worker 2', () => stop('worker 2')],
  ];
  const measured: MeasuredGuarantee[] = [];
  for (const [invariant, limitMs, name, target, measure] of guarantees) {
    const fault: InjectedFault = { name, target, from: Date.now(), to: Infinity };
    done.push(fault);
    const times = await measure();
    fault.to = Date.now();
    const [longest] = times.toSorted((a, b) => (b.ms ?? Infinity) - (a.ms ?? Infinity));
    const { ms: measuredMs, of } = longest ?? { ms: 0, of: 'nothing' };
    const slowness = speed.slownessBetween(fault.from, fault.to);
    measured.push({ invariant, limitMs, target, measuredMs, longest: of, count: times.length, slowness });
  }
  return measured;
}

/**
 * Returns the violated guarantees, by more than the machine was slowed down. A measurement that was abandoned took at
 * least as long as it was waited for; whether it ever ended is checked when all work has settled.
 */
export function findBrokenGuarantees(measured: readonly MeasuredGuarantee[]): Violation[] {
  return measured
    .filter(({ measuredMs, limitMs, slowness }) => (measuredMs ?? MEASUREMENT_TIMEOUT_MS) > limitMs * slowness)
    .map(({ invariant, target, measuredMs, longest, count, slowness }) => {
      const took = measuredMs === null ? 'never' : `${Math.round(measuredMs)} ms`;
      const machine = `on a machine slowed down ${slowness.toFixed(1)} times`;
      return violate(invariant, null, target, `${took} (${longest}), the longest of ${count}, ${machine}`);
    });
}

/**
 * Kills a worker, and measures until the generations that were queued then have ended, minus the time of the upstream.
 */
async function measureTakeovers(environment: ChaosEnvironment): Promise<Duration[]> {
  const client = new pg.Client({ connectionString: environment.databaseUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    const queued = async (): Promise<string[]> =>
      (await client.query(`SELECT uuid FROM generations WHERE status = 'queued'`)).rows.map(({ uuid }) => uuid);
    let held: string[] = [];
    await waitUntil(async () => (held = await queued()).length >= MIN_QUEUED, MEASUREMENT_TIMEOUT_MS);
    const killedAt = Date.now();
    environment.processes.get('worker 1')?.kill();
    const endedAt = new Map<string, number>();
    await waitUntil(async () => {
      const left = new Set(await queued());
      for (const uuid of held) if (!left.has(uuid) && !endedAt.has(uuid)) endedAt.set(uuid, Date.now());
      return endedAt.size === held.length;
    }, MEASUREMENT_TIMEOUT_MS);
    const { rows } = await client.query(
      `SELECT uuid, upstream_handle ->> 'request_id' AS run FROM generations WHERE uuid = ANY ($1::uuid[])`,
      [held],
    );
    return (rows as { uuid: string; run: string | null }[]).map(({ uuid, run }) => {
      const ended = endedAt.get(uuid);
      if (ended === undefined) return { of: uuid, ms: null };
      const { submittedAt = killedAt, completedAt } = environment.upstream.jobs.find(({ id }) => id === run) ?? {};
      const ranMs = Math.min(ended, completedAt ?? killedAt) - Math.max(killedAt, submittedAt);
      return { of: uuid, ms: ended - killedAt - Math.max(0, ranMs) };
    });
  } finally {
    await client.end();
  }
}

/** Cuts the API processes off from Postgres, and measures the duration of requests meanwhile. */
async function measureOutage(environment: ChaosEnvironment, journal: Journal): Promise<Duration[]> {
  const proxy = environment.proxies.postgres.apis;
  const from = Date.now();
  proxy.freeze();
  const probes = environment.addresses.map(async (address) => {
    const key = [...journal.keys.values()].find(({ revokeRequestedAt }) => revokeRequestedAt === null)?.key ?? '';
    await fetch(`${address}/api/generations/`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(MEASUREMENT_TIMEOUT_MS),
    }).then((response) => response.text());
    return Date.now() - from;
  });
  const probed = Promise.all(
    probes.map(async (probe) => ({ of: 'list by a probe', ms: await probe.catch(() => null) })),
  );
  await delay(OUTAGE_MS);
  const until = Date.now();
  proxy.open();
  const responses = await probed;
  // Includes requests that began shortly before the end of the outage.
  await delay(DATABASE_RESPONSE_LIMIT_MS);
  const requests = journal.requests.filter(
    ({ at, durationMs, kind }) => at < until && at + durationMs > from && DATABASE_REQUEST_KINDS.test(kind),
  );
  return [
    ...responses,
    ...requests.map(({ kind, at, durationMs }) => ({ of: kind, ms: at + durationMs - Math.max(at, from) })),
  ];
}
