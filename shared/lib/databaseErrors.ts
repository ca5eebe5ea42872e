import pg from 'pg';
import { config } from './config.ts';
import { getErrorCode, isOutage } from './db.ts';

/** Where the database of this process is; nothing of who may enter it. */
export interface DatabaseLocation {
  host: string;
  port: number;
  name: string;
}

/** Which database this process works with, as the driver understands its address. */
export function getDatabaseLocation(): DatabaseLocation {
  const { host, port, database = '' } = new pg.Client(config.DATABASE_URL);
  return { host, port, name: database };
}

/** For a sentence: `The database genmeter at 127.0.0.1:5432`. */
export function formatDatabase({ host, port, name }: DatabaseLocation = getDatabaseLocation()): string {
  return `The database ${name} at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

// A statement that was canceled, mostly by its time-out, and a transaction that was ended by its own.
const CANCELED_CODES = /^(57014|25P04)$/;
// A table or a column that is not there.
const MISSING_SCHEMA_CODES = /^(42P01|42703)$/;
// Who is not let in, a database that is not there, what one may not do.
const ACCESS_DENIED_CODES = /^(28...|3D000|42501)$/;

/** Why nothing can be done with the database at all, as a sentence; undefined where an error is about something else. */
export function describeDatabaseError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const found = getErrorCode(error);
  const code = typeof found === 'string' ? found : '';
  if (CANCELED_CODES.test(code)) {
    return `${formatDatabase()} canceled a statement (${error.message}). Where it allows too little time, raise its statement_timeout, or connect without a pooler.`;
  }
  if (isOutage(error)) return `${formatDatabase()} is out of reach (${code || error.message}).`;
  if (MISSING_SCHEMA_CODES.test(code)) {
    return `${formatDatabase()} is not migrated to this version: npm run release does that, in an image node dist/migrations/main.js.`;
  }
  return ACCESS_DENIED_CODES.test(code) ? `${formatDatabase()} refuses: ${error.message}.` : undefined;
}
