import type { Command } from 'commander';
import { openPage } from '../browser.ts';
import { EXAMPLE_UUID, withExamples } from '../help.ts';
import { printResult } from '../output.ts';
import { findServiceUrl, openClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';

/** Pages of the service by the names that the command takes. */
const PAGES: Readonly<Record<string, string>> = {
  account: '/account/',
  library: '/account/library/',
  usage: '/account/usage/',
  ledger: '/account/ledger/',
  billing: '/account/billing/',
  keys: '/account/keys/',
  webhooks: '/account/webhooks/',
  applications: '/account/applications/',
  settings: '/account/settings/',
  docs: '/docs/',
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function addOpenCommand(program: Command, terminal: Terminal): void {
  const open = program
    .command('open')
    .description('open a page of the service, or the output of a generation, in the browser')
    .argument('[what]', `UUID of a generation, or one of: ${Object.keys(PAGES).join(', ')}`, 'account')
    .option('--page', 'open the page of the generation instead of its output');
  withExamples(open, 'open billing', `open ${EXAMPLE_UUID}`, `open ${EXAMPLE_UUID} --page`).action(
    async (what: string, { page }: { page?: true }) => {
      const url = await findAddress(what, page === true, terminal);
      openPage(terminal, url);
      printResult(terminal, { url }, () => url);
    },
  );
}

async function findAddress(what: string, isPage: boolean, terminal: Terminal): Promise<string> {
  const service = findServiceUrl(terminal);
  const path = PAGES[what];
  if (path !== undefined) return `${service}${path}`;
  if (!UUID.test(what)) {
    const known = Object.keys(PAGES).join(', ');
    throw new CommandError(EXIT.usage, 'usage', `Pass the UUID of a generation, or one of: ${known}.`);
  }
  const page = `${service}/account/library/${what}/`;
  if (isPage) return page;
  const { output_url: output } = await openClient(terminal).generations.get(what, { signal: terminal.signal });
  return output ?? page;
}
