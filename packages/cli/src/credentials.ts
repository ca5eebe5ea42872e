import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, EXIT } from './terminal.ts';

type Env = Record<string, string | undefined>;

/** Access that a user has given to this program in the browser. */
export interface Tokens {
  tokenEndpoint: string;
  revocationEndpoint: string;
  accessToken: string;
  /** Time at which the access token expires, in milliseconds. */
  expiresAt: number;
  refreshToken: string;
}

export type Credentials = { url: string; key: string } | { url: string; tokens: Tokens };

/** Path of the file with the credentials: `genmeter/credentials.json` in the folder for settings (XDG). */
export function getCredentialsFile(env: Env): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
  return join(base, 'genmeter', 'credentials.json');
}

/** Reads the stored credentials, if there are any. */
export function readCredentials(env: Env): Credentials | undefined {
  const file = getCredentialsFile(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new CommandError(EXIT.failure, 'credentials_file', `${file} cannot be read: ${(error as Error).message}.`);
  }
  const { url, key, tokens } = parseObject(text);
  if (typeof url === 'string' && typeof key === 'string') return { url, key };
  if (typeof url === 'string' && isTokens(tokens)) return { url, tokens };
  throw new CommandError(EXIT.failure, 'credentials_file', `${file} is damaged. Run genmeter login again.`);
}

/** Reads the stored credentials, as far as they can be read, before they are replaced or deleted. */
export function tryReadCredentials(env: Env): Credentials | undefined {
  try {
    return readCredentials(env);
  } catch {
    return undefined;
  }
}

function isTokens(value: unknown): value is Tokens {
  const { expiresAt, ...texts } = Object(value) as Partial<Tokens>;
  const names = ['tokenEndpoint', 'revocationEndpoint', 'accessToken', 'refreshToken'] as const;
  return typeof expiresAt === 'number' && names.every((name) => typeof texts[name] === 'string');
}

/**
 * Stores credentials in a file that only its owner can read, from its first byte on.
 * @throws CommandError if the file cannot be written.
 */
export function writeCredentials(env: Env, credentials: Credentials): string {
  const file = getCredentialsFile(env);
  return changeSettings(file, () => {
    const temporary = writeTemporaryFile(file, `${JSON.stringify(credentials, null, 2)}\n`);
    try {
      renameSync(temporary, file);
    } catch (error) {
      rmSync(temporary);
      throw error;
    }
    return file;
  });
}

/** More than credentials take. */
const PROBE_BYTES = 8_192;

/** Checks that credentials can be stored. @throws CommandError otherwise. */
export function requireWritable(env: Env): void {
  const file = getCredentialsFile(env);
  changeSettings(file, () => {
    rmSync(writeTemporaryFile(file, ' '.repeat(PROBE_BYTES)));
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) throw new Error('it is a folder');
  });
}

function writeTemporaryFile(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
  return temporary;
}

/** Deletes the stored credentials. @throws CommandError if the file cannot be deleted. */
export function deleteCredentials(env: Env): void {
  const file = getCredentialsFile(env);
  changeSettings(file, () => rmSync(file, { force: true }));
}

/** Returns whether there may be a file with credentials: it exists, or its folder cannot be read. */
export function mayHaveCredentials(env: Env): boolean {
  try {
    statSync(getCredentialsFile(env));
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Changes files in the folder of the credentials. @throws CommandError that says what to do if that is impossible. */
function changeSettings<Result>(file: string, change: () => Result): Result {
  try {
    return change();
  } catch (error) {
    const advice = `Make sure that you can write to the folder ${dirname(file)} or set XDG_CONFIG_HOME to another one.`;
    const detail = `${file} cannot be written: ${(error as Error).message}. ${advice}`;
    throw new CommandError(EXIT.failure, 'credentials_file', detail);
  }
}

/** Longer than a refresh takes. */
const LOCK_EXPIRY_MS = 30_000;
const LOCK_POLL_MS = 50;

/**
 * Runs work that replaces the credentials while no other process does. A refresh token can be used once, so a process
 * must not refresh with the token that another one is replacing. Two processes may take over an abandoned lock at the
 * same time; that is harmless, because the service accepts concurrent refreshes within a minute.
 * @throws CommandError if the folder cannot be written to; the reason of the signal when it aborts before the work.
 */
export async function withCredentialsLock<Result>(
  env: Env,
  signal: AbortSignal,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const file = getCredentialsFile(env);
  const lock = `${file}.lock`;
  while (!changeSettings(file, () => tryCreate(lock))) {
    if (isAbandoned(lock)) changeSettings(file, () => rmSync(lock, { force: true }));
    else await delay(LOCK_POLL_MS, undefined, { signal });
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryCreate(lock: string): boolean {
  mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(lock, String(process.pid), { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Returns whether the process that holds a lock has ended, or holds it for too long. */
function isAbandoned(lock: string): boolean {
  try {
    if (Date.now() - statSync(lock).mtimeMs > LOCK_EXPIRY_MS) return true;
    const pid = Number(readFileSync(lock, 'utf8'));
    // An empty file: its process is about to write its id.
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
