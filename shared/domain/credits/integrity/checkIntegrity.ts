import pg from 'pg';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import {
  type DatabaseLocation,
  getDatabaseLocation,
  describeDatabaseError,
  formatDatabase,
} from '../../../lib/databaseErrors.ts';
import { type CheckResult, checkEach, readAccountHistory, withReadOnlySnapshot, type Queryable } from './index.ts';

/** So many accounts are told the history of. */
const MAX_HISTORIES = 20;
const CONNECT_TIMEOUT_MS = 10_000;

export interface IntegrityReport {
  database: DatabaseLocation;
  checkedAt: Date;
  results: CheckResult[];
  /** What is known of the accounts that something is wrong with, the first 20 of them. */
  histories: { accountId: string; lines: string[] }[];
}

/** Nothing can be said about the database: the sentence says why. */
export class CheckUnavailableError extends Error {}

/**
 * Checks the service's database against all that must be true of it, in one snapshot and without changing anything.
 * It has a connection of its own, without the limits of time that requests have.
 * @param onResult of each invariant when it is checked: it may take minutes until all are.
 * @throws NotChecked where the database is out of reach, or is not of this version.
 */
export async function checkIntegrity(
  isSettled: boolean,
  onResult: (checked: CheckResult) => void,
): Promise<IntegrityReport> {
  const client = new pg.Client({
    connectionString: config.DATABASE_URL,
    application_name: 'genmeter check',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 0,
  });
  // One that is lost between two statements: the next one says so.
  client.on('error', () => {});
  try {
    await client.connect();
    return await withReadOnlySnapshot(client, () => runChecks(client, isSettled, onResult));
  } catch (error) {
    throw toCheckUnavailableError(error);
  } finally {
    await client.end().catch(() => {});
  }
}

async function runChecks(
  client: Queryable,
  isSettled: boolean,
  onResult: (results: CheckResult) => void,
): Promise<IntegrityReport> {
  const checkedAt = now();
  const results: CheckResult[] = [];
  for await (const result of checkEach(client, { isSettled, now: checkedAt })) {
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
  const problem = describeDatabaseError(error) ?? `${formatDatabase()} refuses: ${(error as Error).message}.`;
  return new CheckUnavailableError(problem, { cause: error });
}
