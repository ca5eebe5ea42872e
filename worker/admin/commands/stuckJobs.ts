import {
  findNamedStuckJobs,
  findStuckJobs,
  requeueJobs,
  type StuckJob,
} from '../../../shared/domain/settlement/stuck.ts';
import { closeQueues, openQueues } from '../../../shared/queues/enqueue.ts';
import { type Call, QUIET_SECONDS, table, time, UsageError, wholeNumber } from '../command.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const AT_ONCE = 1_000;

/** So many jobs at a time. */
type Pages<Job> = AsyncIterable<Job[]> | Job[][];

export async function stuckJobs({ options, say }: Call): Promise<void> {
  const limit = wholeNumber(options['limit'] ?? '50', '--limit', 1, AT_ONCE);
  const jobs = await findStuckJobs(quietMsOf(options), limit);
  list(jobs, say);
  if (jobs.length === limit) say(`There may be more: this lists ${limit} at most.`);
}

export async function requeue({ names, options, isForReal, say }: Call): Promise<void> {
  const isAll = options['all'] === true;
  if (isAll === names.length > 0) throw new UsageError('Name the uuids of the jobs, or say --all.');
  const wrong = names.find((name) => !UUID.test(name));
  if (wrong !== undefined) throw new UsageError(`${wrong} is no uuid.`);
  const named = [...new Set(names.map((name) => name.toLowerCase()))];
  const quietMs = quietMsOf(options);
  const done = isForReal
    ? await putBack(isAll ? pagesOf(quietMs) : [named.map((uuid) => ({ uuid }))], quietMs, say)
    : await foretell(isAll ? pagesOf(quietMs) : [await findNamedStuckJobs(named, quietMs)], say);
  for (const uuid of named) {
    if (!done.has(uuid)) say(`${uuid} is left alone: it is not stuck, has ended, or is not there.`);
  }
}

/** @returns the uuids of those that were put on their queue again: the statement itself leaves alone what is not stuck. */
async function putBack(pages: Pages<{ uuid: string }>, quietMs: number, say: Call['say']): Promise<Set<string>> {
  const done = new Set<string>();
  await openQueues();
  try {
    for await (const jobs of pages) {
      const uuids = jobs.map(({ uuid }) => uuid);
      for (const { uuid, isHeard } of await requeueJobs(uuids, quietMs)) {
        done.add(uuid);
        say(`${uuid} is on its queue again${isHeard ? '' : '; Redis is away: the sweep will find it'}.`);
      }
    }
    say(`${done.size} were put on their queue again.`);
  } finally {
    await closeQueues();
  }
  return done;
}

/** @returns the uuids of those that would be. */
async function foretell(pages: Pages<StuckJob>, say: Call['say']): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const jobs of pages) {
    for (const { uuid } of jobs) found.add(uuid);
    list(jobs, say);
  }
  say(`${found.size} would be put on their queue again.`);
  return found;
}

/** All that are stuck, by uuid: those that were put back still count as stuck until somebody has been at them. */
async function* pagesOf(quietMs: number): AsyncGenerator<StuckJob[]> {
  let jobs = await findStuckJobs(quietMs, AT_ONCE);
  yield jobs;
  while (jobs.length === AT_ONCE) {
    jobs = await findStuckJobs(quietMs, AT_ONCE, jobs.at(-1)?.uuid);
    if (jobs.length > 0) yield jobs;
  }
}

function quietMsOf(options: Call['options']): number {
  return 1_000 * wholeNumber(options['quiet'] ?? String(QUIET_SECONDS), '--quiet', 0, 86_400);
}

function list(jobs: StuckJob[], say: Call['say']): void {
  if (jobs.length === 0) {
    say('No job is stuck.');
    return;
  }
  const rows = jobs.map((job) => [
    job.uuid,
    String(job.account_id),
    job.model,
    time(job.created_at),
    time(job.deadline_at),
    job.is_submitted ? `submitted to ${job.upstream}` : 'not submitted',
    time(job.polled_at),
    String(job.unknown_submits),
  ]);
  const headings = ['uuid', 'account', 'model', 'created', 'deadline', 'state', 'looked at', 'lost submits'];
  for (const line of table(headings, rows)) say(line);
}
