import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from '../../lib/migrationNames.ts';
import { isRedisAvailable } from '../../queues/enqueue.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';

/** Workers probe the upstreams, all the time: a fresh probe shows that one lives. */
const READINESS = prepared(
  'readiness',
  `SELECT (SELECT cast(count(*) AS int) FROM ${MIGRATIONS_TABLE} WHERE name = ANY (cast(:names AS text[]))) AS applied,
          EXISTS (SELECT 1 FROM upstream_health WHERE probed_at > :fresh) AS has_worker`,
);

/** So long an answer is good for, so that asking often costs nothing. */
const CACHE_MS = 1_000;
const state = perService(() => ({
  last: undefined as { problems: Promise<string[]>; askedAt: number } | undefined,
  /** What was logged last; a process that was ready from the beginning says nothing. */
  logged: '',
}));

/**
 * What keeps the service from doing its work, in words that tell a stranger no more than that; none where it is ready.
 * Never rejects.
 */
export function getReadinessProblems(): Promise<string[]> {
  const at = performance.now();
  const current = state();
  if (current.last === undefined || at - current.last.askedAt > CACHE_MS) {
    current.last = { problems: findReadinessProblems(), askedAt: at };
  }
  return current.last.problems;
}

async function findReadinessProblems(): Promise<string[]> {
  const [database, isRedis] = await Promise.all([findDatabaseProblems(), isRedisAvailable()]);
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

async function findDatabaseProblems(): Promise<string[]> {
  try {
    const bindings = { names: [...MIGRATION_NAMES], fresh: addMilliseconds(now(), -PROBE_STALE_MS) };
    const [row] = await runStatement<{ applied: number; has_worker: boolean }>(READINESS, bindings);
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
