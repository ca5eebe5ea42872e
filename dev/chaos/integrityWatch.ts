import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Violation } from '../../shared/domain/integrity/index.ts';
import { readProcessMemory } from '../local/procfs.ts';
import { addDistinct, checkDatabase } from './checks.ts';
import type { Journal } from './clients/journal.ts';
import type { ChaosEnvironment } from './environment.ts';

const CHECK_INTERVAL_MS = 4_000;

/** Resident memory of each process in kilobytes, over time. */
export type MemorySamples = Map<string, number[]>;

export interface IntegrityWatch {
  /** Violations, each with its first occurrence. */
  violations: Violation[];
  memory: MemorySamples;
  /** Number of checks of the invariants. */
  checks: number;
  stop(): Promise<void>;
}

/**
 * Checks, every few seconds and over a connection of its own, what holds at every moment, and collects violations that
 * clients detected.
 * @param onViolation receives every violation of each check.
 */
export function startIntegrityWatch(
  environment: ChaosEnvironment,
  journal: Journal,
  onViolation: (violation: Violation) => void,
): IntegrityWatch {
  const stopping = new AbortController();
  const watch: IntegrityWatch = {
    violations: [],
    memory: new Map(),
    checks: 0,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
  const running = runLoop();
  // `stop` rethrows a failure; until then it must not be an unhandled rejection.
  running.catch(() => {});
  return watch;

  async function runLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(CHECK_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => {});
      recordMemory(environment, watch.memory);
      const found = await runChecks(environment, journal);
      if (found === null) continue;
      watch.checks += 1;
      for (const violation of found) addDistinct(watch.violations, violation);
      for (const violation of [...found, ...journal.violations]) onViolation(violation);
    }
  }
}

/** @returns null while the database is unavailable. */
async function runChecks(environment: ChaosEnvironment, journal: Journal): Promise<Violation[] | null> {
  const client = new pg.Client({
    connectionString: environment.databaseUrl,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 20_000,
    query_timeout: 25_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await checkDatabase(client, environment, journal, false);
  } catch (error) {
    // Errors are expected only from a database that is down, paused, full or starting.
    if (isDatabaseOutage(error as Error & { code?: string })) return null;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Returns true for the Postgres error codes for a lack of resources, a stop or a start, and for lost connections, whose
 * codes have no digit, such as EPIPE.
 */
export function isDatabaseOutage({ code = '', message }: Error & { code?: string }): boolean {
  return /^(53|57|58|08|25P0[34])/.test(code) || !/\d/.test(code) || /timeout|terminat/i.test(message);
}

function recordMemory({ processes, redis }: ChaosEnvironment, memory: MemorySamples): void {
  const note = (name: string, kb: number | null) => {
    if (kb !== null) memory.set(name, [...(memory.get(name) ?? []), kb]);
  };
  for (const [name, managedProcess] of processes) note(name, managedProcess.residentKb());
  for (const pid of redis.pids().slice(0, 1)) note('Redis', readProcessMemory(pid)?.residentKb ?? null);
}
