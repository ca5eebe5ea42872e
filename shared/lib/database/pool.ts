import knex, { type Knex } from 'knex';
import { Model } from 'objection';
import pg from 'pg';
import { config } from '../config.ts';
import { logger } from '../logger.ts';
import { isTracing } from '../tracing.ts';
import { traceQueries } from './tracedQueries.ts';

const pgTypes: pg.CustomTypesConfig = {
  // Counters and keys are bigint columns that stay far below 2^53, so they are numbers here, not strings.
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** Time added to the server's statement timeout before the client gives up on the response. */
const RESPONSE_GRACE_MS = 500;

/** Message of the driver's error when a response does not arrive within `query_timeout`. */
const QUERY_TIMEOUT_MESSAGE = 'Query read timeout';

/** A connection of knex's pool. */
type PooledConnection = pg.Client & { __knexUid: string };

/** A query as knex reports its failure. */
type FailedQuery = Pick<PooledConnection, '__knexUid'> & { sql: string };

/** The `application_name` of the sessions of workers, unless `DATABASE_URL` sets another one. */
export const WORKER_APPLICATION_NAME = 'genmeter worker';

/**
 * Opens a pool of connections.
 * @param timeoutMs limit for obtaining a connection and for each statement. Undefined waits indefinitely.
 */
export function createPool(timeoutMs?: number, applicationName = 'genmeter'): Knex {
  /** The open connections, by the identifier under which knex reports the failure of a query. */
  const connections = new Map<string, PooledConnection>();
  const keepConnection = (connection: PooledConnection, done: () => void) => {
    connections.set(connection.__knexUid, connection);
    connection.once('end', () => connections.delete(connection.__knexUid));
    done();
  };
  const pool = knex({
    client: 'pg',
    connection: {
      connectionString: config.DATABASE_URL,
      application_name: applicationName,
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
    // Keeps the values of a statement, which are customers' data, out of error messages; see also removeStatement.
    compileSqlOnError: false,
    pool: { min: 0, max: config.DATABASE_POOL_MAX, validate: isIdle, afterCreate: keepConnection },
    acquireConnectionTimeout: timeoutMs ?? 60_000,
  });
  pool.on('query-error', (error: Error, query: FailedQuery) => {
    removeStatement(error, query);
    closeIfOverdue(connections.get(query.__knexUid), error);
  });
  if (isTracing()) traceQueries(pool);
  return pool;
}

/**
 * Restores the message of Postgres, in front of which knex has put the text of the statement: several KB in each log
 * line, and in each failed job in Redis. Runs before the error reaches its caller.
 */
function removeStatement(error: Error, { sql }: FailedQuery): void {
  const prefix = `${sql} - `;
  if (error.message.startsWith(prefix)) error.message = error.message.slice(prefix.length);
}

/**
 * Closes a connection on which a response is overdue. Otherwise the ROLLBACK of its transaction would wait for as long
 * again. The outcome of the statement stays unknown.
 */
export function closeIfOverdue(connection: pg.Client | undefined, error: unknown): void {
  if (error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE) void connection?.end();
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
 * The pool of the open service. A query that gets no connection or response in time is an error, never a hang.
 * Undefined until {@link openDatabase} was called.
 */
export let db: Knex;

/** Opens the pool. Connections are made on first use. */
export function openDatabase(isWorker: boolean): Knex {
  db = createPool(config.DATABASE_TIMEOUT_MS, isWorker ? WORKER_APPLICATION_NAME : undefined);
  Model.knex(db);
  return db;
}
