import type { UsageSummary } from '@genmeter/client';
import type { Command } from 'commander';
import { parseCount } from '../arguments.ts';
import {
  type Credentials,
  deleteCredentials,
  mayHaveCredentials,
  requireWritable,
  tryReadCredentials,
  withCredentialsLock,
  writeCredentials,
} from '../credentials.ts';
import { withExamples } from '../help.ts';
import { revoke } from '../oauth/server.ts';
import { signIn } from '../oauth/signIn.ts';
import { printResult } from '../output.ts';
import { createClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';

/** Page of the service where API keys are created and revoked; it asks for a sign-in first. */
const KEYS_PAGE = '/account/keys/';
/** Page of the service where the access of this program can be ended. */
const APPLICATIONS_PAGE = '/account/applications/';
const STILL_VALID = 'remains valid until you revoke it on the account page';
const DEFAULT_TIMEOUT_SECONDS = 300;

interface LoginOptions {
  url?: string;
  key?: true;
  browser: boolean;
  timeout: number;
}

export function addLoginCommands(program: Command, terminal: Terminal): void {
  const login = program
    .command('login')
    .description('sign in through the browser, or store an API key')
    .option('--url <url>', 'address of the service; default: GENMETER_URL, or that of the last login')
    .option('--key', 'store an API key, which is asked for, or read from the standard input')
    .option('--no-browser', 'print the address of the page, and do not open it')
    .option('--timeout <seconds>', 'time to sign in in the browser', parseCount, DEFAULT_TIMEOUT_SECONDS);
  withExamples(login, 'login --url https://api.example.com', 'login --url https://api.example.com --key < key.txt');
  login.action((options: LoginOptions) => storeSignIn(options, terminal));

  const logout = program
    .command('logout')
    .description('sign out: end the access of this program, and delete the stored credentials');
  withExamples(logout, 'logout');
  logout.action(() => removeSignIn(terminal));
}

async function storeSignIn(options: LoginOptions, terminal: Terminal): Promise<void> {
  const { env, signal } = terminal;
  const previous = tryReadCredentials(env);
  const url = (options.url ?? (env['GENMETER_URL'] || previous?.url))?.replace(/\/+$/, '');
  if (url === undefined) {
    throw new CommandError(EXIT.usage, 'usage', 'Pass the address of the service: genmeter login --url https://...');
  }
  createClient(url, {});
  requireWritable(env);
  let summary: UsageSummary;
  let file: string;
  if (options.key === undefined) {
    const { browser: mayOpenBrowser, timeout } = options;
    const tokens = await signIn({ url, mayOpenBrowser, timeoutMs: timeout * 1_000 }, terminal);
    file = await replaceCredentials({ url, tokens }, terminal);
    summary = await createClient(url, { getToken: async () => tokens.accessToken }).usage.summary({ signal });
  } else {
    const key = (await askForKey(url, options.browser, terminal)).trim();
    if (key === '') throw new CommandError(EXIT.usage, 'usage', 'No API key was entered.');
    summary = await createClient(url, { key }).usage.summary({ signal });
    file = await replaceCredentials({ url, key }, terminal);
  }
  const result = { url, file, plan: summary.plan?.slug ?? null, balance: summary.credits.balance };
  printResult(
    terminal,
    result,
    () => `Signed in to ${url} with a balance of ${result.balance} credits.\nStored in ${file}`,
  );
}

/**
 * Stores credentials, and ends the access of those that they replace.
 * @throws CommandError if they cannot be stored; their access is ended then.
 */
async function replaceCredentials(credentials: Credentials, { env, signal }: Terminal): Promise<string> {
  let unused: Credentials | undefined = credentials;
  try {
    return await withCredentialsLock(env, signal, () => {
      const replaced = tryReadCredentials(env);
      const file = writeCredentials(env, credentials);
      unused = replaced;
      return file;
    });
  } finally {
    // Otherwise the access ends by itself, 30 days after its last use.
    await endAccess(unused).catch(() => {});
  }
}

async function endAccess(credentials: Credentials | undefined): Promise<void> {
  if (credentials !== undefined && 'tokens' in credentials) await revoke(credentials.tokens);
}

async function removeSignIn(terminal: Terminal): Promise<void> {
  const { env, signal } = terminal;
  if (!mayHaveCredentials(env)) return printResult(terminal, { signed_out: false }, () => 'Not signed in.');
  const deleted = await withCredentialsLock(env, signal, () => {
    const stored = tryReadCredentials(env);
    deleteCredentials(env);
    return stored;
  });
  const result = { signed_out: true };
  if (deleted === undefined || 'key' in deleted) {
    return printResult(terminal, result, () => describeDeletion(deleted));
  }
  await endAccess(deleted).catch((error: Error) => {
    const advice = `To end it, disconnect it on this page: ${deleted.url}${APPLICATIONS_PAGE}`;
    const detail = `Signed out on this machine, but the access of this program could not be ended. ${error.message} ${advice}`;
    throw new CommandError(EXIT.temporary, 'not_revoked', detail);
  });
  printResult(terminal, result, () => 'Signed out. This program has no access to your account anymore.');
}

/** Says what remains valid after a deletion that has ended nothing at the service. */
function describeDeletion(deleted: Credentials | undefined): string {
  if (deleted !== undefined) return `Signed out. The API key ${STILL_VALID}.`;
  return [
    'Signed out on this machine. The deleted file could not be read.',
    `If it contained an API key, the key ${STILL_VALID}.`,
    `If you had signed in through the browser, disconnect this program on the page ${APPLICATIONS_PAGE} of the service.`,
  ].join(' ');
}

function askForKey(url: string, mayOpenBrowser: boolean, terminal: Terminal): Promise<string> {
  if (terminal.isInteractive) {
    const page = new URL(`${url}${KEYS_PAGE}`).href;
    terminal.note(`Create an API key on ${page}, then paste it here.`);
    if (mayOpenBrowser) terminal.openBrowser(page);
  }
  return terminal.readSecret('API key (not shown): ');
}
