import type { GenerationFilters } from '@genmeter/client';
import { type Command, Option } from 'commander';
import { collectPair, parseCount } from '../arguments.ts';
import { requireTarget } from '../download.ts';
import { EXAMPLE_UUID, withExamples } from '../help.ts';
import { formatGeneration, formatGenerations, printHint, printResult } from '../output.ts';
import { readFirst } from '../readList.ts';
import { openClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { type FinishOptions, finish, withFinishOptions } from '../waiting.ts';

const DEFAULT_LIMIT = 20;

interface ListOptions {
  limit: number;
  status?: GenerationFilters['status'];
  kind?: GenerationFilters['kind'];
  model?: string;
  metadata?: Record<string, string>;
  after?: string;
  before?: string;
}

export function addGenerationCommands(program: Command, terminal: Terminal): void {
  const list = program
    .command('list')
    .description('list generations, newest first')
    .option('-n, --limit <number>', 'most generations to list', parseCount, DEFAULT_LIMIT)
    .addOption(new Option('--status <status>', 'with this status').choices(['queued', 'succeeded', 'failed']))
    .addOption(new Option('--kind <kind>', 'of this kind').choices(['video', 'image']))
    .option('--model <slug>', 'of this model')
    .option('--metadata <key=value>', 'with this pair of metadata; can be repeated', collectPair)
    .option('--after <time>', 'created at this date or ISO 8601 time, or later')
    .option('--before <time>', 'created before this date or time');
  withExamples(list, 'list --kind video --status succeeded -n 5', 'list --metadata order=17 --after 2026-01-01 --json');
  list.action((options: ListOptions) => listGenerations(options, terminal));

  const get = program.command('get').description('show a generation').argument('<uuid>', 'UUID of the generation');
  withExamples(withFinishOptions(get), `get ${EXAMPLE_UUID}`, `get ${EXAMPLE_UUID} --wait -o .`);
  get.action(async (uuid: string, given: FinishOptions) => {
    const options = await requireTarget(given, terminal);
    const client = openClient(terminal);
    const generation = await client.generations.get(uuid, { signal: terminal.signal });
    await finish(client, generation, options, terminal);
  });

  const cancel = program
    .command('cancel')
    .description('cancel a queued generation; it is refunded if it has not started')
    .argument('<uuid>', 'UUID of the generation');
  withExamples(cancel, `cancel ${EXAMPLE_UUID}`);
  cancel.action(async (uuid: string) => {
    const generation = await openClient(terminal).generations.cancel(uuid, { signal: terminal.signal });
    if (generation.status === 'queued')
      printHint(terminal, `The provider has to confirm the cancellation. See it with: genmeter get ${uuid} --wait`);
    printResult(terminal, generation, () => formatGeneration(generation));
  });

  const remove = program
    .command('delete')
    .description('delete generations and their files, without a refund')
    .argument('<uuid...>', 'UUIDs of the generations');
  withExamples(remove, `delete ${EXAMPLE_UUID}`);
  remove.action(async (uuids: string[]) => {
    const client = openClient(terminal);
    const deleted: string[] = [];
    try {
      for (const uuid of uuids) {
        await client.generations.delete(uuid, { signal: terminal.signal });
        deleted.push(uuid);
      }
    } finally {
      // An error concerns the first of the others.
      if (deleted.length > 0) {
        printResult(terminal, { deleted }, () => deleted.map((uuid) => `Deleted ${uuid}`).join('\n'));
      }
    }
  });
}

async function listGenerations({ limit, ...options }: ListOptions, terminal: Terminal): Promise<void> {
  const { after, before, ...filters } = options;
  const query: GenerationFilters = { ...filters, created_after: after, created_before: before };
  const found = await readFirst(openClient(terminal).generations.list(query, { signal: terminal.signal }), limit);
  printResult(terminal, found, () => formatGenerations(found));
}
