import { findStuckJobs, requeueJobs, type StuckJob } from '../../../shared/domain/settlement/stuck.ts';
import { closeQueues, openQueues } from '../../../shared/queues/enqueue.ts';
import { type Call, QUIET_SECONDS, table, time, UsageError, wholeNumber } from '../command.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const AT_ONCE = 1_000;

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
  const quietMs = quietMsOf(options);
  const stuck = await findStuckJobs(quietMs, AT_ONCE);
  const named = new Set(names.map((name) => name.toLowerCase()));
  const chosen = isAll ? stuck : stuck.filter(({ uuid }) => named.has(uuid));
  const left = [...named].filter((name) => !chosen.some(({ uuid }) => uuid === name));
  if (!isForReal) {
    list(chosen, say);
    say(`${chosen.length} would be put on their queue again.`);
  } else {
    await openQueues();
    try {
      const done = await requeueJobs(
        chosen.map(({ uuid }) => uuid),
        quietMs,
      );
      for (const { uuid, isHeard } of done) {
        say(`${uuid} is on its queue again${isHeard ? '' : '; Redis is away: the sweep will find it'}.`);
      }
      say(`${done.length} were put on their queue again.`);
    } finally {
      await closeQueues();
    }
  }
  for (const uuid of left) say(`${uuid} is left alone: it is not stuck, has ended, or is not there.`);
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
