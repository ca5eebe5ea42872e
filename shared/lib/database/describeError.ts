import pg from 'pg';
import { config } from '../config.ts';
import { getErrorCode, isOutage } from './errors.ts';

/** Address of a database, without credentials. */
export interface DatabaseLocation {
  host: string;
  port: number;
  name: string;
}

/** Returns the address of the database, as the driver parses DATABASE_URL. */
export function getDatabaseLocation(): DatabaseLocation {
  const { host, port, database = '' } = new pg.Client(config.DATABASE_URL);
  return { host, port, name: database };
}

/** Formats the address for a sentence: `The database genmeter at 127.0.0.1:5432`. */
export function formatDatabase(): string {
  const { host, port, name } = getDatabaseLocation();
  return `The database ${name} at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

// Canceled statement (usually a timeout), transaction timeout.
const CANCELED_CODES = /^(57014|25P04)$/;
// Undefined table, undefined column.
const MISSING_SCHEMA_CODES = /^(42P01|42703)$/;
// Invalid authorization, unknown database.
const CONNECTION_REJECTED_CODES = /^(28...|3D000)$/;
const INSUFFICIENT_PRIVILEGE_CODE = '42501';

/** Explains in one sentence why the database cannot be used at all. Returns undefined for any other error. */
export function describeDatabaseError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const found = getErrorCode(error);
  const code = typeof found === 'string' ? found : '';
  if (CANCELED_CODES.test(code)) {
    return `${formatDatabase()} canceled a statement (${error.message}). Where it allows too little time, raise its statement_timeout, or connect without a pooler.`;
  }
  if (isOutage(error)) return `${formatDatabase()} is unreachable (${code || error.message}).`;
  if (MISSING_SCHEMA_CODES.test(code)) {
    return `${formatDatabase()} is not migrated to this version: npm run release does that, in an image node dist/migrations/main.js.`;
  }
  if (code === INSUFFICIENT_PRIVILEGE_CODE) return `${formatDatabase()} denied access: ${error.message}.`;
  return CONNECTION_REJECTED_CODES.test(code)
    ? `${formatDatabase()} rejected the connection: ${error.message}.`
    : undefined;
}
