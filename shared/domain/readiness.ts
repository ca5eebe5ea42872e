import { addMilliseconds, now } from '../lib/clock.ts';
import { prepared, run } from '../lib/db.ts';
import { logger } from '../lib/logger.ts';
import { perService } from '../lib/serviceScope.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from '../lib/migrationNames.ts';
import { isRedisThere } from '../queues/enqueue.ts';
import { PROBE_STALE_MS } from '../spec/limits.ts';

/** Workers probe the upstreams, all the time: a fresh probe shows that one lives. */
const STANDING = prepared(
  'readiness',
  `SELECT (SELECT cast(count(*) AS int) FROM ${MIGRATIONS_TABLE} WHERE name = ANY (cast(:names AS text[]))) AS applied,
          EXISTS (SELECT 1 FROM upstream_health WHERE probed_at > :fresh) AS has_worker`,
);

/** So long an answer is good for, so that asking often costs nothing. */
const KEPT_MS = 1_000;
const state = perService(() => ({
  last: undefined as { problems: Promise<string[]>; askedAt: number } | undefined,
  /** What was logged last; a process that was ready from the beginning says nothing. */
  logged: '',
}));

/**
 * What keeps the service from doing its work, in words that tell a stranger no more than that; none where it is ready.
 * Never rejects.
 */
export function problemsOfReadiness(): Promise<string[]> {
  const at = performance.now();
  const current = state();
  if (current.last === undefined || at - current.last.askedAt > KEPT_MS) {
    current.last = { problems: look(), askedAt: at };
  }
  return current.last.problems;
}

async function look(): Promise<string[]> {
  const [database, isRedis] = await Promise.all([lookAtDatabase(), isRedisThere()]);
  const problems = isRedis ? database : [...database, 'Redis is out of reach'];
  logChange(problems);
  return problems;
}

/** Once for each change, however often it is asked for: what was wrong is to be read afterwards, too. */
function logChange(problems: string[]): void {
  const now = problems.join(', ');
  if (now === state().logged) return;
  state().logged = now;
  if (problems.length > 0) logger.warn({ reasons: problems }, 'not ready');
  else logger.info('ready again');
}

async function lookAtDatabase(): Promise<string[]> {
  try {
    const bindings = { names: [...MIGRATION_NAMES], fresh: addMilliseconds(now(), -PROBE_STALE_MS) };
    const [row] = await run<{ applied: number; has_worker: boolean }>(STANDING, bindings);
    return [
      ...(row?.applied === MIGRATION_NAMES.length ? [] : ['the database is not migrated to this version']),
      ...(row?.has_worker === true ? [] : ['no worker was seen within 45 seconds']),
    ];
  } catch (error) {
    // The tables that are asked for are missing: it was never migrated.
    const isEmpty = error instanceof Error && 'code' in error && error.code === '42P01';
    return [isEmpty ? 'the database is not migrated to this version' : 'the database is out of reach'];
  }
}
