import {
  findStuckGenerationsByUuid,
  findStuckGenerations,
  requeueGenerations,
  type StuckGeneration,
} from '../../../../shared/domain/staff/stuckGenerations.ts';
import { isUuid } from '../../../../shared/lib/uuid.ts';
import { STUCK_AFTER_SECONDS } from '../../../../shared/spec/staff.ts';
import { closeQueues, openQueues } from '../../../../shared/queues/enqueue.ts';
import { type CommandContext, formatTime, printTable, UsageError, parseIntegerOption } from '../command.ts';
import { getSystemActor, parseReason } from '../systemActor.ts';

const BATCH_SIZE = 1_000;

/** Generations in batches. */
type GenerationBatches<Item> = AsyncIterable<Item[]> | Item[][];

export async function listStuckGenerations({ options, print }: CommandContext): Promise<void> {
  const limit = parseIntegerOption(options['limit'] ?? '50', '--limit', 1, BATCH_SIZE);
  const generations = await findStuckGenerations(parseIdleMs(options), limit);
  printGenerations(generations, print);
  if (generations.length === limit) print(`There may be more: the list is limited to ${limit}.`);
}

export async function requeueStuckGenerations({ args, options, shouldApply, print }: CommandContext): Promise<void> {
  const isAll = options['all'] === true;
  if (isAll === args.length > 0) throw new UsageError('Specify either UUIDs of generations or --all.');
  if (args.length > BATCH_SIZE) throw new UsageError(`Specify at most ${BATCH_SIZE} UUIDs.`);
  const wrong = args.find((name) => !isUuid(name));
  if (wrong !== undefined) throw new UsageError(`${wrong} is not a valid UUID.`);
  const named = [...new Set(args.map((name) => name.toLowerCase()))];
  const idleMs = parseIdleMs(options);
  const done = shouldApply
    ? await requeueBatches(isAll ? listStuckBatches(idleMs) : [named.map((uuid) => ({ uuid }))], idleMs, options, print)
    : await previewRequeue(isAll ? listStuckBatches(idleMs) : [await findStuckGenerationsByUuid(named, idleMs)], print);
  for (const uuid of named) {
    if (!done.has(uuid)) print(`${uuid} skipped: the generation is not stuck, has ended, or does not exist.`);
  }
}

/** @returns UUIDs of the generations that were requeued. The statement itself skips generations that are not stuck. */
async function requeueBatches(
  pages: GenerationBatches<{ uuid: string }>,
  idleMs: number,
  options: CommandContext['options'],
  print: CommandContext['print'],
): Promise<Set<string>> {
  const done = new Set<string>();
  const actor = getSystemActor(parseReason(options));
  await openQueues();
  try {
    for await (const generations of pages) {
      const uuids = generations.map(({ uuid }) => uuid);
      for (const { uuid, isEnqueued } of await requeueGenerations(uuids, idleMs, actor)) {
        done.add(uuid);
        print(`${uuid} requeued${isEnqueued ? '' : '; Redis is unavailable, so the sweep will enqueue it'}.`);
      }
    }
    print(`${done.size} requeued.`);
  } finally {
    await closeQueues();
  }
  return done;
}

/** @returns UUIDs of the generations that would be requeued. */
async function previewRequeue(
  pages: GenerationBatches<StuckGeneration>,
  print: CommandContext['print'],
): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const generations of pages) {
    for (const { uuid } of generations) found.add(uuid);
    printGenerations(generations, print);
  }
  print(`${found.size} would be requeued.`);
  return found;
}

/** Lists all stuck generations in batches by UUID. Requeued ones count as stuck until a worker has processed them. */
async function* listStuckBatches(idleMs: number): AsyncGenerator<StuckGeneration[]> {
  let generations = await findStuckGenerations(idleMs, BATCH_SIZE);
  yield generations;
  while (generations.length === BATCH_SIZE) {
    generations = await findStuckGenerations(idleMs, BATCH_SIZE, generations.at(-1)?.uuid);
    if (generations.length > 0) yield generations;
  }
}

function parseIdleMs(options: CommandContext['options']): number {
  return 1_000 * parseIntegerOption(options['idle'] ?? String(STUCK_AFTER_SECONDS), '--idle', 0, 86_400);
}

function printGenerations(generations: StuckGeneration[], print: CommandContext['print']): void {
  if (generations.length === 0) {
    print('No generation is stuck.');
    return;
  }
  const rows = generations.map((generation) => [
    generation.uuid,
    String(generation.account_id),
    generation.model,
    formatTime(generation.created_at),
    formatTime(generation.deadline_at),
    generation.is_submitted ? `submitted to ${generation.upstream}` : 'not submitted',
    formatTime(generation.polled_at),
    String(generation.unconfirmed_submits),
  ]);
  const headings = ['uuid', 'account', 'model', 'created', 'deadline', 'state', 'last poll', 'unconfirmed submits'];
  printTable(print, headings, rows);
}
