import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { SqlFunction } from '../../lib/database/sqlFunctions.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { MIGRATION_NAMES } from '../../lib/migrationNames.ts';
import { arePlansReleased } from '../catalog/releasedPlans.ts';
import { isCatalogReleased, reportOlderCatalog } from '../catalog/releases.ts';
import { probeQueues } from '../../queues/heartbeat.ts';

const READINESS = prepared(
  'check_readiness',
  `SELECT cast(count(*) AS int) AS applied,
          (SELECT cast(count(*) AS int) FROM pg_proc WHERE proname = ANY (cast(:functions AS text[]))) AS functions
     FROM migrations WHERE name = ANY (cast(:names AS text[]))`,
);

/** Time for which a result is reused, so that frequent checks cost nothing. */
const CACHE_MS = 1_000;
const state = perService(() => ({
  last: undefined as { problems: Promise<string[]>; askedAt: number } | undefined,
  /** The problems that were logged last. A process that is ready from the start logs nothing. */
  logged: '',
}));

/**
 * Lists the problems that make the service unavailable, without internal details; empty if it is ready. Never rejects.
 * @param required functions that the database must have.
 */
export function getReadinessProblems(required: readonly SqlFunction[]): Promise<string[]> {
  const at = performance.now();
  const current = state();
  if (current.last === undefined || at - current.last.askedAt > CACHE_MS) {
    current.last = { problems: findReadinessProblems(required), askedAt: at };
  }
  return current.last.problems;
}

async function findReadinessProblems(required: readonly SqlFunction[]): Promise<string[]> {
  const problems = (await Promise.all([findDatabaseProblems(required), findQueueProblems()])).flat();
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

async function findDatabaseProblems(required: readonly SqlFunction[]): Promise<string[]> {
  try {
    const functions = required.map(({ installedName }) => installedName);
    const bindings = { names: [...MIGRATION_NAMES], functions };
    const [row] = await runStatement<{ applied: number; functions: number }>(READINESS, bindings);
    if (row?.applied !== MIGRATION_NAMES.length || row.functions < functions.length)
      return ['the database is not migrated to this version'];
    const isReleased = (await isCatalogReleased()) && (await arePlansReleased());
    await reportOlderCatalog();
    return isReleased ? [] : ['the catalog is not released: run npm run release with this CATALOG'];
  } catch (error) {
    // undefined_table: the database was never migrated.
    const isEmpty = error instanceof Error && 'code' in error && error.code === '42P01';
    return [isEmpty ? 'the database is not migrated to this version' : 'the database is unavailable'];
  }
}

/** A worker that cannot receive jobs is as good as none, whether or not its process runs. */
async function findQueueProblems(): Promise<string[]> {
  try {
    return (await probeQueues()).hasWorker ? [] : ['no worker was seen within 45 seconds'];
  } catch {
    return ['Redis is unavailable'];
  }
}
