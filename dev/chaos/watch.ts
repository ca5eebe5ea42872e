import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { checkInvariants, type Violation } from '../../shared/domain/invariants/index.ts';
import { type ClientBooks, compareCharges } from './clients/clients.ts';
import { findCancelled } from './compareUpstream.ts';
import { residentKbOf } from './part.ts';
import type { Stage } from './stage.ts';

const EVERY_MS = 4_000;
/** Of what breaks the same invariant, so much is kept. */
const KEPT_OF_EACH = 5;

/** What a process held in memory, in kilobytes, over time. */
export type Memory = Map<string, number[]>;

export interface Watch {
  /** Each the first time that it was seen. */
  violations: Violation[];
  memory: Memory;
  /** How often the invariants were looked at. */
  checks: number;
  stop(): Promise<void>;
}

/**
 * Looks every few seconds, by a connection of its own, at what must hold at every moment, and at what clients saw to be
 * wrong meanwhile.
 * @param tell is told of all that was found, each time.
 */
export function startWatch(
  stage: Stage,
  books: Pick<ClientBooks, 'violations' | 'creates' | 'refusals'>,
  tell: (violation: Violation) => void,
): Watch {
  const stopping = new AbortController();
  const watch: Watch = {
    violations: [],
    memory: new Map(),
    checks: 0,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
  const running = look();
  // Whoever stops it hears of it; until then it is nobody's.
  running.catch(() => {});
  return watch;

  async function look(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
      noteMemory(stage, watch.memory);
      const found = await checkNow(stage, books);
      if (found === null) continue;
      watch.checks += 1;
      for (const violation of found) keepFirst(watch.violations, violation);
      for (const violation of [...found, ...books.violations]) tell(violation);
    }
  }
}

/** @returns null while the database cannot be asked. */
async function checkNow(stage: Stage, books: Pick<ClientBooks, 'creates' | 'refusals'>): Promise<Violation[] | null> {
  const client = new pg.Client({
    connectionString: stage.databaseUrl,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 20_000,
    query_timeout: 25_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return [
      ...(await findCancelled(stage.upstream.jobs, client)),
      ...(await compareCharges(books, client)),
      ...(await checkInvariants(client, { isSettled: false, now: stage.now() })),
    ];
  } catch (error) {
    // Only what a database says that is down, standing still, full, or just coming up, is no news.
    if (isOutage(error as Error & { code?: string })) return null;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Lost connections, and the codes of Postgres for what is short, stopped, or starting. */
function isOutage({ code = '', message }: Error & { code?: string }): boolean {
  return /^(53|57|58|08|25P03)/.test(code) || !/^[0-9A-Z]{5}$/.test(code) || /timeout|terminat/i.test(message);
}

export function keepFirst(kept: Violation[], violation: Violation): void {
  const same = kept.filter(({ invariant }) => invariant === violation.invariant);
  if (same.length < KEPT_OF_EACH && !same.some(({ subject }) => subject === violation.subject)) kept.push(violation);
}

function noteMemory(stage: Stage, memory: Memory): void {
  const note = (name: string, kb: number | null) => {
    if (kb !== null) memory.set(name, [...(memory.get(name) ?? []), kb]);
  };
  for (const [name, part] of stage.parts) note(name, part.residentKb());
  for (const pid of stage.redis.pids().slice(0, 1)) note('Redis', residentKbOf(pid));
}
