import { randomBytes } from 'node:crypto';
import type { WebhookEndpoint } from '@genmeter/client';
import { type Command, InvalidArgumentError } from 'commander';
import { type ForwardResult, forwardEvent } from '../forwardEvent.ts';
import { withExamples, withoutArguments } from '../help.ts';
import { formatList, printResult, printWarning, toLine } from '../output.ts';
import { openClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { watchEndings } from '../watchEndings.ts';

const DEFAULT_INTERVAL_SECONDS = 2;
const SECRET_PATTERN = /^whsec_[A-Za-z0-9+/]{22,}={0,2}$/;

interface ListenOptions {
  forwardTo: URL;
  secret?: string;
  interval: number;
}

export function addWebhookCommands(program: Command, terminal: Terminal): void {
  const webhooks = program.command('webhooks').description('webhook endpoints, and a local receiver');

  const list = withoutArguments(webhooks.command('list', { isDefault: true }).description('list webhook endpoints'));
  withExamples(list, 'webhooks list', 'webhooks list --json').action(async () => {
    const found: WebhookEndpoint[] = [];
    for await (const endpoint of openClient(terminal).webhooks.list({ signal: terminal.signal })) found.push(endpoint);
    printResult(terminal, found, () =>
      formatList(
        'webhook endpoints',
        ['UUID', 'STATE', 'URL', 'EVENTS'],
        found.map((one) => [one.uuid, one.enabled ? 'enabled' : 'disabled', one.url, one.events?.join(' ') ?? 'all']),
      ),
    );
  });

  const listen = webhooks
    .command('listen')
    .description('send generation.succeeded and generation.failed to a receiver on this machine, until interrupted')
    .requiredOption('--forward-to <url>', 'address of the receiver (required)', parseUrl)
    .option('--secret <whsec>', 'secret that signs the messages; default: a new one, which is printed', parseSecret)
    .option(
      '--interval <seconds>',
      'pause between two reads of the generations',
      parseInterval,
      DEFAULT_INTERVAL_SECONDS,
    );
  withExamples(
    listen,
    'webhooks listen --forward-to http://localhost:4000/webhooks',
    'webhooks listen --forward-to http://localhost:4000/webhooks --interval 10 --json',
  );
  listen.action((options: ListenOptions) => listenForEndings(options, terminal));
}

function parseUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('Write an address such as http://localhost:4000/webhooks.');
}

function parseSecret(text: string): string {
  if (SECRET_PATTERN.test(text)) return text;
  throw new InvalidArgumentError('Write "whsec_" and at least 16 bytes in base64.');
}

function parseInterval(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 60) return seconds;
  throw new InvalidArgumentError('Write 1 to 60 seconds.');
}

async function listenForEndings({ forwardTo, secret, interval }: ListenOptions, terminal: Terminal): Promise<void> {
  const client = openClient(terminal);
  const { signal, isJson } = terminal;
  const key = secret ?? `whsec_${randomBytes(32).toString('base64')}`;
  const onReady = () => {
    if (isJson) terminal.print(JSON.stringify({ ready: true, secret: key, forward_to: forwardTo.href }));
    else terminal.print(`Ready. Messages to ${forwardTo.href} are signed with ${key}`);
  };
  const endings = watchEndings(client, {
    intervalMs: interval * 1_000,
    signal,
    onReady,
    onOutage: (error) => printWarning(terminal, `Reading failed, trying again: ${error.message}`),
  });
  for await (const generation of endings) {
    const result = await forwardEvent(generation, forwardTo, key, signal);
    terminal.print(isJson ? JSON.stringify(result) : formatForwardResult(result));
  }
}

function formatForwardResult({ type, uuid, status, error }: ForwardResult): string {
  return toLine(`${new Date().toISOString().slice(11, 19)}  ${type}  ${uuid}  ${error ?? status}`);
}
