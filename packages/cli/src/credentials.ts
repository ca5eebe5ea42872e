import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, EXIT } from './terminal.ts';

type Env = Record<string, string | undefined>;

export interface Credentials {
  url: string;
  key: string;
}

/** Path of the file with the API key: `genmeter/credentials.json` in the folder for settings (XDG). */
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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CommandError(EXIT.failure, 'credentials_file', `${file} cannot be read: ${(error as Error).message}.`);
  }
  const stored = parseObject(text);
  if (typeof stored['url'] === 'string' && typeof stored['key'] === 'string') {
    return { url: stored['url'], key: stored['key'] };
  }
  throw new CommandError(EXIT.failure, 'credentials_file', `${file} is damaged. Run genmeter login again.`);
}

/** Stores credentials in a file that only its owner can read, from its first byte on. */
export function writeCredentials(env: Env, credentials: Credentials): string {
  const file = getCredentialsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, file);
  return file;
}

/** Deletes the stored credentials. @returns whether there were any. */
export function deleteCredentials(env: Env): boolean {
  const file = getCredentialsFile(env);
  try {
    rmSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
