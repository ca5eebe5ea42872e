import { join, relative } from 'node:path';
import { getExamplePlan, parseCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import type { Config } from '../../../shared/lib/config.ts';

/** One line of the summary: name, version, address and origin. */
export type SummaryRow = readonly [what: string, version: string, address: string, note: string];

/** Formats the line of a database, without the password in its address. */
export function formatDatabaseRow({
  name,
  version,
  url,
  source,
}: Record<'name' | 'version' | 'url' | 'source', string>): SummaryRow {
  return [name, version, url.replace(/^(\w+:\/\/[^:/@]*):[^@]*@/, '$1:***@'), source];
}

/** Returns the address of a local host and port. */
export function formatAddress(host: string, port: number): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${reached}:${port}`;
}

/** Aligns rows in columns. */
export function alignColumns(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) => `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

/**
 * Formats the addresses that people open in a browser.
 * @param mailboxUrl page of the local mailbox, if there is one.
 */
export function formatBrowserAddresses(
  { BASE_URL, STAFF_EMAILS }: Pick<Config, 'BASE_URL' | 'STAFF_EMAILS'>,
  mailboxUrl: string | undefined,
): string {
  const staff =
    STAFF_EMAILS === ''
      ? 'metrics and queues, for staff: STAFF_EMAILS=you@example.com npm start'
      : `metrics and queues, for staff: ${STAFF_EMAILS.replaceAll(/:\w+/g, '')}`;
  const lines = [
    [`${BASE_URL}/account/`, 'plan, API keys, connected applications'],
    [`${BASE_URL}/api/docs/`, 'the API'],
    [`${BASE_URL}/admin/`, staff],
    ...(mailboxUrl === undefined ? [] : [[mailboxUrl, 'e-mail messages that the service sends']]),
  ];
  return `Open in a browser:\n\n${alignColumns(lines)}`;
}

/**
 * Formats the commands that lead to a first image, or video if the catalog has no image model, ready to paste into a
 * terminal in any folder.
 */
export function formatFirstSteps(
  { BASE_URL, STRIPE_SECRET_KEY, CATALOG }: Pick<Config, 'BASE_URL' | 'STRIPE_SECRET_KEY' | 'CATALOG'>,
  dataDir: string,
): string {
  const catalog = parseCatalog({ CATALOG });
  const { model, params } = getExampleRequest(catalog);
  const { kind } = model;
  const jar = quoteForShell(join(dataDir, 'cookies.txt'));
  const json = `-H 'Content-Type: application/json'`;
  const request = { model: model.slug, prompt: 'A lighthouse at dusk', params };
  const post = (path: string, body: unknown): string =>
    `curl -sb ${jar} -H 'Origin: ${new URL(BASE_URL).origin}' ${json} -d ${quoteForShell(JSON.stringify(body))} ${BASE_URL}${path}`;
  const signIn = `curl -sc ${jar} ${json} -d '{"email":"me@example.com"}' ${BASE_URL}/authentication/dev/sign-in/`;
  const subscribe = post('/api/billing/checkout/', { plan: getExamplePlan(catalog).slug });
  // The response of the second command contains the address of the output.
  const create = [
    `UUID=$(${post('/api/generations/create/', request)} | sed 's/.*"uuid":"\\([^"]*\\)".*/\\1/')`,
    `curl -sb ${jar} "${BASE_URL}/api/generations/$UUID/?wait=30"`,
  ];
  const steps =
    STRIPE_SECRET_KEY === undefined
      ? [
          `Create a first ${kind}, in another terminal; the last response contains its output_url:`,
          [signIn, subscribe, ...create],
        ]
      : [
          `Create a first ${kind}, in another terminal:`,
          [signIn, subscribe],
          'Open the checkout_url of that response in a browser and pay (in test mode with the card 4242 4242 4242 4242).',
          `Stripe must reach ${BASE_URL}/api/billing/webhooks/processor/; on this machine "stripe listen" forwards to it.`,
          `The output_url of the last response is the ${kind}:`,
          create,
        ];
  return steps
    .map((step) => (typeof step === 'string' ? step : `\n${step.map((line) => `  ${line}`).join('\n')}\n`))
    .join('\n')
    .trimEnd();
}

/** Returns the shortest form of a path, relative to the current folder. */
export function shortenPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}

function quoteForShell(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
