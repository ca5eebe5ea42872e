import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from '../../lib/migrationNames.ts';
import { isRedisAvailable } from '../../queues/enqueue.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';

/** Workers probe the upstreams continuously, so a fresh probe shows that a worker is running. */
const READINESS = prepared(
  'check_readiness',
  `SELECT (SELECT cast(count(*) AS int) FROM ${MIGRATIONS_TABLE} WHERE name = ANY (cast(:names AS text[]))) AS applied,
          EXISTS (SELECT 1 FROM upstream_health WHERE probed_at > :fresh) AS has_worker`,
);

/** Time for which a result is reused, so that frequent checks cost nothing. */
const CACHE_MS = 1_000;
const state = perService(() => ({
  last: undefined as { problems: Promise<string[]>; askedAt: number } | undefined,
  /** The problems that were logged last. A process that is ready from the start logs nothing. */
  logged: '',
}));

/** Lists the problems that make the service unavailable, without internal details; empty if it is ready. Never rejects. */
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
  const problems = isRedis ? database : [...database, 'Redis is unavailable'];
  logChange(problems);
  return problems;
}

/** Logs the problems once per change, so that an outage can be read from the log afterwards. */
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
    // undefined_table: the database was never migrated.
    const isEmpty = error instanceof Error && 'code' in error && error.code === '42P01';
    return [isEmpty ? 'the database is not migrated to this version' : 'the database is unavailable'];
  }
}
