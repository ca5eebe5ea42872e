import pg from 'pg';
import { now } from '../lib/clock.ts';
import { config } from '../lib/config.ts';
import { type DatabasePlace, databasePlace, problemOfDatabase, theDatabase } from '../lib/databaseProblem.ts';
import { type Checked, checkEach, historyOf, inSnapshot, type Queryable } from './invariants/index.ts';

/** So many accounts are told the history of. */
const HISTORIES_MAX = 20;
const CONNECT_MS = 10_000;

export interface Books {
  database: DatabasePlace;
  checkedAt: Date;
  checked: Checked[];
  /** What is known of the accounts that something is wrong with, the first 20 of them. */
  histories: { accountId: string; lines: string[] }[];
}

/** Nothing can be said about the database: the sentence says why. */
export class NotChecked extends Error {}

/**
 * Checks the service's database against all that must be true of it, in one snapshot and without changing anything.
 * It has a connection of its own, without the limits of time that requests have.
 * @param tell of each invariant when it is checked: it may take minutes until all are.
 * @throws NotChecked where the database is out of reach, or is not of this version.
 */
export async function checkBooks(isSettled: boolean, tell: (checked: Checked) => void): Promise<Books> {
  const client = new pg.Client({
    connectionString: config.DATABASE_URL,
    application_name: 'genmeter check',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: 0,
  });
  // One that is lost between two statements: the next one says so.
  client.on('error', () => {});
  try {
    await client.connect();
    return await inSnapshot(client, () => read(client, isSettled, tell));
  } catch (error) {
    throw notChecked(error);
  } finally {
    await client.end().catch(() => {});
  }
}

async function read(client: Queryable, isSettled: boolean, tell: (checked: Checked) => void): Promise<Books> {
  const checkedAt = now();
  const checked: Checked[] = [];
  for await (const one of checkEach(client, { isSettled, now: checkedAt })) {
    checked.push(one);
    tell(one);
  }
  const accounts = new Set(checked.flatMap(({ violations }) => violations.map(({ accountId }) => accountId)));
  const histories: Books['histories'] = [];
  for (const accountId of accounts) {
    if (accountId === null || histories.length === HISTORIES_MAX) continue;
    histories.push({ accountId, lines: await historyOf(client, accountId) });
  }
  return { database: databasePlace(), checkedAt, checked, histories };
}

function notChecked(error: unknown): Error {
  const problem = problemOfDatabase(error) ?? `${theDatabase()} refuses: ${(error as Error).message}.`;
  return new NotChecked(problem, { cause: error });
}
