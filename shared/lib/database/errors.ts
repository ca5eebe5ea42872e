/** Returns true if the database was unreachable or did not respond in time, rather than rejecting the statement. */
export function isOutage(error: unknown): boolean {
  return isOutcomeUnknown(error) || isNotSent(error) || matchesError(error, TIMEOUT_CODES, TIMEOUT_MESSAGES);
}

/**
 * Returns true if a statement may or may not have run: its connection broke, or its response did not arrive in time.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  return matchesError(error, CONNECTION_LOST_CODES, CONNECTION_LOST_MESSAGES) && !isNotSent(error);
}

/** Returns true if there was no connection to send the statement on, of this process or of a pooler behind it. */
function isNotSent(error: unknown): boolean {
  return matchesError(error, NOT_SENT_CODES, NOT_SENT_MESSAGES);
}

/** Returns true if Postgres canceled the statement because it took too long. It had no effect. */
function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && getErrorCode(error) === '57014';
}

/**
 * Describes an outage for the log and the caller. A statement times out as it waits for a row, such as that of a busy
 * account, or because the database is slow.
 */
export function describeOutage(error: unknown): { event: string; reason: string; retryAfterSeconds: number } {
  return isStatementTimeout(error)
    ? {
        event: 'statement timed out',
        reason: 'The service is busy.',
        retryAfterSeconds: 1,
      }
    : {
        event: 'database unavailable',
        reason: 'The service is temporarily unavailable.',
        retryAfterSeconds: 5,
      };
}

/** Returns true for a violation of a unique constraint. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && getErrorCode(error) === '23505';
}

/**
 * Returns true if Postgres ended the transaction because it and others waited for each other. It was rolled back, and
 * may succeed when it is repeated.
 */
export function isDeadlock(error: unknown): boolean {
  return error instanceof Error && getErrorCode(error) === '40P01';
}

/** Returns true if the database rejected the statement. In a batch, a single item may be the cause. */
export function isRejection(error: unknown): boolean {
  return !isOutage(error);
}

// Classes 08 (connection exception) and 57P (shutdown) of Postgres, transactions that it ended by a timeout, and the
// network errors of Node.
const CONNECTION_LOST_CODES = /^(08...|57P..|25P0[34]|ECONN\w+|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH)$/;
const CONNECTION_LOST_MESSAGES =
  /Connection terminated|not queryable|connection error|Connection is closed|Query read timeout/i;
// Network errors that only an attempt to connect has.
const NOT_SENT_CODES = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;
// Messages of PgBouncer, whose code 08P01 also stands for connections that broke during a statement.
const NOT_SENT_MESSAGES =
  /server login has been failing|pgbouncer cannot connect to server|query_wait_timeout|no more connections allowed/;
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
