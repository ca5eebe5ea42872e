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

/** How much longer than the server's own limit its answer is waited for. */
const RESPONSE_GRACE_MS = 500;

/**
 * Opens a pool of connections.
 * @param timeoutMs how long to wait for a connection, and for an answer; undefined waits for as long as it takes.
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
    // What knex has to say goes where everything goes.
    log: {
      warn: (message: unknown) => logger.warn({ knex: String(message) }, 'the database pool'),
      error: (message: unknown) => logger.warn({ knex: String(message) }, 'the database pool'),
      debug: () => {},
      deprecate: () => {},
    },
    // An error is not to carry the statement, with what a customer wrote in it, into the logs.
    compileSqlOnError: false,
    pool: { min: 0, max: config.DATABASE_POOL_MAX, validate: isIdle },
    acquireConnectionTimeout: timeoutMs ?? 60_000,
  });
}

/**
 * Whether nothing is under way on a connection. One whose answer was no longer waited for still has its statement, or
 * its transaction, open: whoever got it next would work inside somebody else's transaction.
 */
function isIdle(connection: pg.Client): boolean {
  const { readyForQuery, _queryQueue: queue } = connection as unknown as {
    readyForQuery: boolean;
    _queryQueue: unknown[];
  };
  return readyForQuery && queue.length === 0 && connection.getTransactionStatus() === 'I';
}

/**
 * The pool of the open service. A query that gets no connection or answer in time is an error, never a hang. Undefined
 * until {@link openDatabase} was called.
 */
export let db: Knex;

/** Opens the pool. Connections are made when they are first needed. */
export function openDatabase(): Knex {
  db = createPool(config.DATABASE_TIMEOUT_MS);
  Model.knex(db);
  return db;
}

/** Nobody sent what was asked for to the database: what had come before was still at work there. */
class QueueTimeoutError extends Error {
  readonly code = 'EQUEUETIMEOUT';
}

/** For statements that a request waits for: to wait in this process takes no longer than to wait for a connection. */
export const DB_WAIT_TIMEOUT: WaitTimeout = {
  get timeoutMs() {
    return config.DATABASE_TIMEOUT_MS;
  },
  createError: () => new QueueTimeoutError('no turn at the database in time'),
};

/** What a statement takes: `:name` in its text. */
export type Bindings = Record<string, unknown>;

export interface Statement {
  /** Under this name each connection keeps the statement prepared. */
  name: string;
  sql: string;
}

/** A statement that is prepared once on each connection: about 2.5 times as fast as sending its text each time. */
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

/** Whether an error says that the database could not be reached or did not answer, rather than that it refused. */
export function isOutage(error: unknown): boolean {
  return isOutcomeUnknown(error) || matchesError(error, TIMEOUT_CODES, TIMEOUT_MESSAGES);
}

/** Whether nobody knows if a statement was carried out: its connection broke, or its answer did not come in time. */
export function isOutcomeUnknown(error: unknown): boolean {
  return matchesError(error, CONNECTION_LOST_CODES, CONNECTION_LOST_MESSAGES);
}

/** Whether a row with one of the statement's unique keys was there already. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && getErrorCode(error) === '23505';
}

/** Whether the database looked at a statement and refused it, as it may one item of a batch for another's sake. */
export function isRejection(error: unknown): boolean {
  return !isOutage(error);
}

// Classes 08 (connection exception) and 57P (shutdown) of Postgres, a transaction that it has ended as it was left
// waiting for too long, and Node's own.
const CONNECTION_LOST_CODES =
  /^(08...|57P..|25P0[34]|ECONN\w+|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const CONNECTION_LOST_MESSAGES =
  /Connection terminated|not queryable|connection error|Connection is closed|Query read timeout/i;
// Class 53 (out of connections, memory, disk), a statement cancelled by its time-out, and a server that has just lost
// its place to another one and only reads.
const TIMEOUT_CODES = /^(53...|57014|25006|EQUEUETIMEOUT)$/;
const TIMEOUT_MESSAGES = /KnexTimeoutError|timeout exceeded when trying to connect|timeout expired/i;

/** The code of an error of Postgres or of Node, which objection wraps into one of its own. */
export function getErrorCode(error: Error & { code?: unknown; nativeError?: { code?: unknown } }): unknown {
  return error.nativeError?.code ?? error.code;
}

function matchesError(error: unknown, codes: RegExp, messages: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  const code = getErrorCode(error);
  return (typeof code === 'string' && codes.test(code)) || messages.test(`${error.name}: ${error.message}`);
}
