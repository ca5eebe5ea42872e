import type { Generation, GenerationFilters } from '@genmeter/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { formatGenerations, printResult, withJson } from '../output.ts';
import { openClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { type FinishOptions, finish } from '../waiting.ts';

const DEFAULT_LIMIT = 20;

interface ListOptions {
  limit: number;
  status?: GenerationFilters['status'];
  kind?: GenerationFilters['kind'];
  model?: string;
  after?: string;
  before?: string;
  json?: boolean;
}

export function addGenerationCommands(program: Command, terminal: Terminal): void {
  const list = program
    .command('list')
    .description('list generations, newest first')
    .option('-n, --limit <number>', 'most generations to list', parseLimit, DEFAULT_LIMIT)
    .addOption(new Option('--status <status>').choices(['queued', 'succeeded', 'failed']))
    .addOption(new Option('--kind <kind>').choices(['video', 'image']))
    .option('--model <slug>')
    .option('--after <time>', 'created at this date or ISO 8601 time or later')
    .option('--before <time>', 'created before it');
  withJson(list).action((options: ListOptions) => listGenerations(options, terminal));

  const get = program
    .command('get')
    .description('show a generation')
    .argument('<uuid>')
    .option('-w, --wait', 'wait until it has ended')
    .option('-o, --output <file>', 'wait, then store the output in this file or folder');
  withJson(get).action(async (uuid: string, options: FinishOptions) => {
    const client = openClient(terminal);
    const generation = await client.generations.get(uuid, { signal: terminal.signal });
    await finish(client, generation, options, terminal);
  });

  const remove = program
    .command('delete')
    .description('delete generations and their files, without a refund')
    .argument('<uuid...>');
  withJson(remove).action(async (uuids: string[], { json }: { json?: boolean }) => {
    const client = openClient(terminal);
    for (const uuid of uuids) await client.generations.delete(uuid, { signal: terminal.signal });
    printResult(terminal, json, { deleted: uuids }, () => uuids.map((uuid) => `Deleted ${uuid}.`).join('\n'));
  });
}

function parseLimit(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number of at least 1.');
}

async function listGenerations({ limit, json, ...options }: ListOptions, terminal: Terminal): Promise<void> {
  const { status, kind, model, after, before } = options;
  const filters = { status, kind, model, created_after: after, created_before: before } as GenerationFilters;
  const found: Generation[] = [];
  for await (const generation of openClient(terminal).generations.list(filters, { signal: terminal.signal })) {
    found.push(generation);
    if (found.length === limit) break;
  }
  printResult(terminal, json, found, () => formatGenerations(found));
}
