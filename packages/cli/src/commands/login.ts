import type { Command } from 'commander';
import { deleteCredentials, readCredentials, writeCredentials } from '../credentials.ts';
import { printResult, withJson } from '../output.ts';
import { createClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';

/** Page of the service where API keys are created; it asks for a sign-in first. */
const KEYS_PAGE = '/account/keys/';

interface LoginOptions {
  url?: string;
  key?: string;
  browser: boolean;
  json?: boolean;
}

export function addLoginCommands(program: Command, terminal: Terminal): void {
  const login = program
    .command('login')
    .description('store an API key: opens the page that creates one, and asks for it')
    .option('--url <url>', 'address of the service; default: GENMETER_URL, or that of the last login')
    .option('--key <key>', 'store this key; without a terminal, it is read from the standard input')
    .option('--no-browser', 'print the address of the page only');
  withJson(login).action((options: LoginOptions) => storeKey(options, terminal));

  withJson(program.command('logout').description('delete the stored API key from this machine')).action(
    ({ json }: { json?: boolean }) => {
      const isDeleted = deleteCredentials(terminal.env);
      const text = isDeleted
        ? 'Signed out. The API key remains valid until you revoke it on the account page.'
        : 'Not signed in.';
      printResult(terminal, json, { signed_out: isDeleted }, () => text);
    },
  );
}

async function storeKey(
  { url: urlOption, key: keyOption, browser, json }: LoginOptions,
  terminal: Terminal,
): Promise<void> {
  const { env, signal } = terminal;
  const url = (urlOption ?? (env['GENMETER_URL'] || readCredentials(env)?.url))?.replace(/\/+$/, '');
  if (url === undefined) {
    throw new CommandError(EXIT.usage, 'usage', 'Pass the address of the service: genmeter login --url https://...');
  }
  createClient(url, undefined);
  const key = (keyOption ?? (await askForKey(url, browser, terminal))).trim();
  if (key === '') throw new CommandError(EXIT.usage, 'usage', 'No API key was entered.');
  const summary = await createClient(url, key).usage.summary({ signal });
  const file = writeCredentials(env, { url, key });
  const result = { url, file, plan: summary.plan?.slug ?? null, balance: summary.credits.balance };
  printResult(
    terminal,
    json,
    result,
    () => `Signed in to ${url}. Balance: ${result.balance} credits. Stored in ${file}.`,
  );
}

function askForKey(url: string, mayOpenBrowser: boolean, terminal: Terminal): Promise<string> {
  if (terminal.isInteractive) {
    const page = `${url}${KEYS_PAGE}`;
    terminal.note(`Create an API key on ${page}, then paste it here.`);
    if (mayOpenBrowser) terminal.openBrowser(page);
  }
  return terminal.readSecret('API key (not shown): ');
}
