import pg from 'pg';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import {
  type DatabaseLocation,
  getDatabaseLocation,
  describeDatabaseError,
  formatDatabase,
} from '../../lib/database/describeError.ts';
import { type CheckResult, checkEach, readAccountHistory, withReadOnlySnapshot, type Queryable } from './index.ts';

/** Accounts whose history is part of a report. */
const MAX_HISTORIES = 20;
const CONNECT_TIMEOUT_MS = 10_000;

export interface IntegrityReport {
  database: DatabaseLocation;
  checkedAt: Date;
  results: CheckResult[];
  /** Histories of the first 20 accounts with violations. */
  histories: { accountId: string; lines: string[] }[];
}

/** The database cannot be checked; the message says why. */
export class CheckUnavailableError extends Error {}

/**
 * Checks all invariants in one read-only snapshot of the service's database, on a connection of its own.
 * @param onResult is called as each invariant is checked; all of them can take minutes.
 * @throws CheckUnavailableError if the database is unavailable or not migrated to this version.
 */
export async function checkIntegrity(
  isDrained: boolean,
  onResult: (checked: CheckResult) => void,
): Promise<IntegrityReport> {
  const client = new pg.Client({
    connectionString: config.DATABASE_URL,
    application_name: 'genmeter check',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection lost between two statements makes the next statement fail.
  client.on('error', () => {});
  try {
    await client.connect();
    return await withReadOnlySnapshot(client, () => runChecks(client, isDrained, onResult));
  } catch (error) {
    throw toCheckUnavailableError(error);
  } finally {
    await client.end().catch(() => {});
  }
}

async function runChecks(
  client: Queryable,
  isDrained: boolean,
  onResult: (results: CheckResult) => void,
): Promise<IntegrityReport> {
  const checkedAt = now();
  const results: CheckResult[] = [];
  for await (const result of checkEach(client, { isDrained, now: checkedAt })) {
    results.push(result);
    onResult(result);
  }
  const accounts = new Set(results.flatMap(({ violations }) => violations.map(({ accountId }) => accountId)));
  const histories: IntegrityReport['histories'] = [];
  for (const accountId of accounts) {
    if (accountId === null || histories.length === MAX_HISTORIES) continue;
    histories.push({ accountId, lines: await readAccountHistory(client, accountId) });
  }
  return { database: getDatabaseLocation(), checkedAt, results, histories };
}

function toCheckUnavailableError(error: unknown): Error {
  const problem =
    describeDatabaseError(error) ?? `${formatDatabase()} could not be checked: ${(error as Error).message}.`;
  return new CheckUnavailableError(problem, { cause: error });
}
