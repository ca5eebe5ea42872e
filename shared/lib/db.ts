import knex, { type Knex } from 'knex';
import { Model } from 'objection';
import pg from 'pg';
import type { WaitTimeout } from './batcher.ts';
import { config } from './config.ts';
import { logger } from './logger.ts';

/** Counters and keys are bigint columns that stay far below 2^53, so they are numbers here, not strings. */
const pgTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/** Time added to the server's statement timeout before the client gives up on the response. */
const RESPONSE_GRACE_MS = 500;

/**
 * Opens a pool of connections.
 * @param timeoutMs limit for obtaining a connection and for each statement. Undefined waits indefinitely.
 */
export function createPool(timeoutMs?: number): Knex {
  return knex({
    client: 'pg',
    connection: {
      connectionString: config.DATABASE_URL,
      application_name: 'genmeter',
      keepAlive: true,
      types: pgTypes,
      connectionTimeoutMillis: timeoutMs,
      // The server cancels first, so that the outcome is certain. Not while a commit waits for a synchronous standby:
      // there the time-out does not apply, and the outcome is unknown.
      statement_timeout: timeoutMs,
      query_timeout: timeoutMs === undefined ? undefined : timeoutMs + RESPONSE_GRACE_MS,
      idle_in_transaction_session_timeout: timeoutMs === undefined ? undefined : 2 * timeoutMs,
    } as Knex.PgConnectionConfig,
    log: {
      warn: (message: unknown) => logger.warn({ knex: String(message) }, 'database pool warning'),
      error: (message: unknown) => logger.warn({ knex: String(message) }, 'database pool error'),
      debug: () => {},
      deprecate: () => {},
    },
    // Keeps statements, which contain customers' texts, out of the logged errors.
    compileSqlOnError: false,
    pool: { min: 0, max: config.DATABASE_POOL_MAX, validate: isIdle },
    acquireConnectionTimeout: timeoutMs ?? 60_000,
  });
}

/**
 * Returns true if no statement and no transaction is open on a connection. After a client-side timeout either may still
 * be open, and the next user of the connection would work inside another request's transaction.
 */
function isIdle(connection: pg.Client): boolean {
  const { readyForQuery, _queryQueue: queue } = connection as unknown as {
    readyForQuery: boolean;
    _queryQueue: unknown[];
  };
  return readyForQuery && queue.length === 0 && connection.getTransactionStatus() === 'I';
}

/**
 * The pool of the open service. A query that gets no connection or response in time is an error, never a hang. Undefined
 * until {@link openDatabase} was called.
 */
export let db: Knex;

/** Opens the pool. Connections are made on first use. */
export function openDatabase(): Knex {
  db = createPool(config.DATABASE_TIMEOUT_MS);
  Model.knex(db);
  return db;
}

/** A statement that was never sent: earlier ones occupied the database until the timeout. */
class QueueTimeoutError extends Error {
  readonly code = 'EQUEUETIMEOUT';
}

/** Limits the wait for a batch of statements to the same time as the wait for a connection. */
export const DB_WAIT_TIMEOUT: WaitTimeout = {
  get timeoutMs() {
    return config.DATABASE_TIMEOUT_MS;
  },
  createError: () => new QueueTimeoutError('timed out waiting for a database connection'),
};

/** Values for the `:name` parameters of a statement. */
export type Bindings = Record<string, unknown>;

export interface Statement {
  /** Name of the prepared statement on each connection. */
  name: string;
  sql: string;
}

/** Declares a statement that is prepared once per connection: about 2.5 times as fast as sending its text each time. */
export function prepared(name: string, sql: string): Statement {
  return { name, sql };
}

/** Runs a prepared statement and returns its rows. */
export async function runStatement<Row>(
  statement: Statement,
  bindings: Bindings,
  connection: Knex = db,
): Promise<Row[]> {
  const query = connection.raw(statement.sql, bindings as Knex.ValueDict).options({ name: statement.name });
  const result = (await query) as unknown as { rows: Row[] };
  return result.rows;
}

/** Returns true if the database was unreachable or did not respond in time, rather than rejecting the statement. */
export function isOutage(error: unknown): boolean {
  return isOutcomeUnknown(error) || matchesError(error, TIMEOUT_CODES, TIMEOUT_MESSAGES);
}

/** Returns true if a statement may or may not have run: its connection broke, or its response did not arrive in time. */
export function isOutcomeUnknown(error: unknown): boolean {
  return matchesError(error, CONNECTION_LOST_CODES, CONNECTION_LOST_MESSAGES);
}

/** Returns true for a violation of a unique constraint. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && getErrorCode(error) === '23505';
}

/** Returns true if the database rejected the statement. In a batch, a single item may be the cause. */
export function isRejection(error: unknown): boolean {
  return !isOutage(error);
}

// Classes 08 (connection exception) and 57P (shutdown) of Postgres, transactions that it ended by a timeout, and the
// network errors of Node.
const CONNECTION_LOST_CODES =
  /^(08...|57P..|25P0[34]|ECONN\w+|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const CONNECTION_LOST_MESSAGES =
  /Connection terminated|not queryable|connection error|Connection is closed|Query read timeout/i;
// Class 53 (out of connections, memory, disk), a statement canceled by its timeout, and a former primary that is now
// read-only after a failover.
const TIMEOUT_CODES = /^(53...|57014|25006|EQUEUETIMEOUT)$/;
const TIMEOUT_MESSAGES = /KnexTimeoutError|timeout exceeded when trying to connect|timeout expired/i;

/** Returns the code of a Postgres or Node error, also when objection has wrapped it. */
export function getErrorCode(error: Error & { code?: unknown; nativeError?: { code?: unknown } }): unknown {
  return error.nativeError?.code ?? error.code;
}

function matchesError(error: unknown, codes: RegExp, messages: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  const code = getErrorCode(error);
  return (typeof code === 'string' && codes.test(code)) || messages.test(`${error.name}: ${error.message}`);
}
