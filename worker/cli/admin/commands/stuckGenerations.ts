import {
  findStuckGenerationsByUuid,
  findStuckGenerations,
  requeueGenerations,
  type StuckGeneration,
} from '../../../../shared/domain/generations/execution/stuckGenerations.ts';
import { closeQueues, openQueues } from '../../../../shared/queues/enqueue.ts';
import {
  type CommandContext,
  STUCK_AFTER_SECONDS,
  formatTable,
  formatTime,
  UsageError,
  parseIntegerOption,
} from '../command.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BATCH_SIZE = 1_000;

/** So many jobs at a time. */
type GenerationBatches<Job> = AsyncIterable<Job[]> | Job[][];

export async function listStuckGenerations({ options, print }: CommandContext): Promise<void> {
  const limit = parseIntegerOption(options['limit'] ?? '50', '--limit', 1, BATCH_SIZE);
  const jobs = await findStuckGenerations(parseQuietMs(options), limit);
  printGenerations(jobs, print);
  if (jobs.length === limit) print(`There may be more: this lists ${limit} at most.`);
}

export async function requeueStuckGenerations({ args, options, shouldApply, print }: CommandContext): Promise<void> {
  const isAll = options['all'] === true;
  if (isAll === args.length > 0) throw new UsageError('Name the uuids of the jobs, or say --all.');
  const wrong = args.find((name) => !UUID.test(name));
  if (wrong !== undefined) throw new UsageError(`${wrong} is no uuid.`);
  const named = [...new Set(args.map((name) => name.toLowerCase()))];
  const quietMs = parseQuietMs(options);
  const done = shouldApply
    ? await requeueBatches(isAll ? listStuckBatches(quietMs) : [named.map((uuid) => ({ uuid }))], quietMs, print)
    : await previewRequeue(
        isAll ? listStuckBatches(quietMs) : [await findStuckGenerationsByUuid(named, quietMs)],
        print,
      );
  for (const uuid of named) {
    if (!done.has(uuid)) print(`${uuid} is left alone: it is not stuck, has ended, or is not there.`);
  }
}

/** @returns the uuids of those that were put on their queue again: the statement itself leaves alone what is not stuck. */
async function requeueBatches(
  pages: GenerationBatches<{ uuid: string }>,
  quietMs: number,
  say: CommandContext['print'],
): Promise<Set<string>> {
  const done = new Set<string>();
  await openQueues();
  try {
    for await (const jobs of pages) {
      const uuids = jobs.map(({ uuid }) => uuid);
      for (const { uuid, isEnqueued } of await requeueGenerations(uuids, quietMs)) {
        done.add(uuid);
        say(`${uuid} is on its queue again${isEnqueued ? '' : '; Redis is away: the sweep will find it'}.`);
      }
    }
    say(`${done.size} were put on their queue again.`);
  } finally {
    await closeQueues();
  }
  return done;
}

/** @returns the uuids of those that would be. */
async function previewRequeue(
  pages: GenerationBatches<StuckGeneration>,
  say: CommandContext['print'],
): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const jobs of pages) {
    for (const { uuid } of jobs) found.add(uuid);
    printGenerations(jobs, say);
  }
  say(`${found.size} would be put on their queue again.`);
  return found;
}

/** All that are stuck, by uuid: those that were put back still count as stuck until somebody has been at them. */
async function* listStuckBatches(quietMs: number): AsyncGenerator<StuckGeneration[]> {
  let jobs = await findStuckGenerations(quietMs, BATCH_SIZE);
  yield jobs;
  while (jobs.length === BATCH_SIZE) {
    jobs = await findStuckGenerations(quietMs, BATCH_SIZE, jobs.at(-1)?.uuid);
    if (jobs.length > 0) yield jobs;
  }
}

function parseQuietMs(options: CommandContext['options']): number {
  return 1_000 * parseIntegerOption(options['quiet'] ?? String(STUCK_AFTER_SECONDS), '--quiet', 0, 86_400);
}

function printGenerations(jobs: StuckGeneration[], say: CommandContext['print']): void {
  if (jobs.length === 0) {
    say('No job is stuck.');
    return;
  }
  const rows = jobs.map((job) => [
    job.uuid,
    String(job.account_id),
    job.model,
    formatTime(job.created_at),
    formatTime(job.deadline_at),
    job.is_submitted ? `submitted to ${job.upstream}` : 'not submitted',
    formatTime(job.polled_at),
    String(job.unconfirmed_submits),
  ]);
  const headings = ['uuid', 'account', 'model', 'created', 'deadline', 'state', 'looked at', 'lost submits'];
  for (const line of formatTable(headings, rows)) say(line);
}
