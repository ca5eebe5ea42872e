import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import type { UpstreamJob } from '../../test/fakes/fakeUpstream.ts';
import { CALLBACK_ONLY } from './randomCallbacks.ts';

const STATEMENTS = {
  'runs-have-a-generation': 'Every run of an upstream belongs to a charged generation.',
  'run-once':
    'A generation runs once, at most once more if the outcome of its submission was unknown, and once more elsewhere if its run ended without a usable output.',
  'ended-by-its-last-run': 'A generation that was tried elsewhere fails as its last run has failed.',
  'canceled-runs-were-obsolete':
    'A run is canceled only if its generation has ended or waits for another run, or if its owner canceled it and the upstream said that it had not started.',
  'canceled-generations-did-not-run': 'A generation that its owner has canceled has no run that started.',
  'call-backs-are-not-believed': 'No generation has ended as a call-back says that the upstream does not confirm.',
  'success-has-an-output': 'A generation has succeeded only if the upstream produced an output.',
} as const;

interface GenerationRow {
  account_id: string;
  uuid: string;
  prompt: string;
  status: string;
  unconfirmed_submits: number;
  has_failed_over: boolean;
  request_id: string | null;
  ended_before_deadline: boolean;
  is_cancel_requested: boolean;
  is_canceled: boolean;
  error_message: string | null;
}

/** Maximum time between a status and a request to cancel because of it: processes are paused for some seconds. */
const CANCEL_DELAY_MAX_MS = 10_000;

/**
 * Returns true if a run was canceled because the upstream had just said that it waits. It may start while the request to
 * cancel it is on its way, and upstreams then end it nevertheless.
 */
function wasSeenWaiting({ startedAt, seenWaitingAt, cancelledAt }: UpstreamJob): boolean {
  if (startedAt === null) return true;
  return seenWaitingAt !== null && cancelledAt !== null && cancelledAt - seenWaitingAt < CANCEL_DELAY_MAX_MS;
}

/**
 * Finds queued generations whose recorded run was canceled. A recorded run is canceled only after its generation has
 * ended, so that this holds at every moment, unless the owner has canceled a generation whose run was waiting.
 */
export async function findWronglyCancelled(jobs: readonly UpstreamJob[], client: Queryable): Promise<Violation[]> {
  const cancelled = jobs.filter((job) => job.cancelled).map(({ id }) => id);
  const seenWaiting = jobs.filter((job) => job.cancelled && wasSeenWaiting(job)).map(({ id }) => id);
  if (cancelled.length === 0) return [];
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, uuid, upstream_handle ->> 'request_id' AS run
       FROM generations WHERE status = 'queued' AND upstream_handle ->> 'request_id' = ANY ($1::text[])
        AND NOT (cancel_requested_at IS NOT NULL AND upstream_handle ->> 'request_id' = ANY ($2::text[]))`,
    [cancelled, seenWaiting],
  );
  return (rows as { account_id: string; uuid: string; run: string }[]).map(({ account_id: accountId, uuid, run }) => ({
    invariant: 'canceled-runs-were-obsolete',
    statement: STATEMENTS['canceled-runs-were-obsolete'],
    accountId,
    subject: uuid,
    detail: `queued, but its run ${run} was canceled`,
  }));
}

function describeCanceledRun(
  row: GenerationRow,
  { id, submittedAt, startedAt, completedAt, polls }: UpstreamJob,
): string {
  const after = (at: number | null) => (at === null ? 'never' : `${at - submittedAt} ms`);
  const owner = row.is_cancel_requested ? 'its owner had canceled it' : 'its owner had not canceled it';
  return `run ${id} was recorded, and then canceled: ${owner}; ${row.status}, ${row.error_message ?? 'no error'}; after its submission it started ${after(startedAt)}, ended ${after(completedAt)}, was polled ${polls.map(after).join(', ')}`;
}

/**
 * Returns false for a generation with the error of a run that is not its last one, or that had no other. Runs whose
 * submission was not confirmed have no order.
 */
function isEndedByLastRun(row: GenerationRow, made: readonly UpstreamJob[]): boolean {
  if (!row.has_failed_over || row.unconfirmed_submits > 0) return true;
  const hasError = ({ outcome }: UpstreamJob) => outcome?.kind === 'failed' && outcome.message === row.error_message;
  const last = made.at(-1);
  return !made.some(hasError) || (made.length > 1 && last !== undefined && hasError(last));
}

/** Compares generations with the runs of the upstream, when nothing is in progress. */
export async function compareUpstream(jobs: readonly UpstreamJob[], client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, uuid, p.prompt, status, unconfirmed_submits,
            upstream_handle ->> 'request_id' AS request_id, completed_at < deadline_at AS ended_before_deadline,
            cancel_requested_at IS NOT NULL AS is_cancel_requested, coalesce(error_message = 'Canceled.', false) AS is_canceled,
            error_message, failed_over_at IS NOT NULL AS has_failed_over
       FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid`,
  );
  const generations = new Map((rows as GenerationRow[]).map((row) => [row.prompt, row]));
  const runs = new Map<string, UpstreamJob[]>();
  for (const job of jobs) runs.set(job.prompt, [...(runs.get(job.prompt) ?? []), job]);
  const found: Violation[] = [];
  const report = (
    invariant: keyof typeof STATEMENTS,
    row: GenerationRow | undefined,
    subject: string,
    detail: string,
  ) => found.push({ invariant, statement: STATEMENTS[invariant], accountId: row?.account_id ?? null, subject, detail });

  for (const [prompt, made] of runs) {
    const row = generations.get(prompt);
    if (row === undefined) report('runs-have-a-generation', row, prompt, `${made.length} runs without a generation`);
    else if (made.length > Math.min(2, 1 + row.unconfirmed_submits) + Number(row.has_failed_over)) {
      const elsewhere = row.has_failed_over ? ', tried elsewhere' : '';
      report(
        'run-once',
        row,
        row.uuid,
        `${made.length} runs, ${row.unconfirmed_submits} submissions of unknown outcome${elsewhere}`,
      );
    }
  }
  for (const row of generations.values()) {
    const isMade = runs.get(row.prompt)?.some(({ outcome }) => outcome?.kind === 'succeeded') === true;
    if (!isEndedByLastRun(row, runs.get(row.prompt) ?? []))
      report('ended-by-its-last-run', row, row.uuid, `${row.error_message}, as a run before its last one`);
    const recorded = runs.get(row.prompt)?.find(({ id }) => id === row.request_id);
    if (recorded?.cancelled === true && row.ended_before_deadline) {
      const wasWithdrawn = row.is_cancel_requested && wasSeenWaiting(recorded);
      if (!wasWithdrawn) report('canceled-runs-were-obsolete', row, row.uuid, describeCanceledRun(row, recorded));
    }
    const started = runs.get(row.prompt)?.find(({ startedAt }) => startedAt !== null);
    // An earlier submit of unknown outcome may have led to a run whose handle is not known.
    if (row.is_canceled && row.unconfirmed_submits === 0 && started !== undefined)
      report('canceled-generations-did-not-run', row, row.uuid, `run ${started.id} had started`);
    if (row.error_message?.includes(CALLBACK_ONLY) === true)
      report('call-backs-are-not-believed', row, row.uuid, row.error_message);
    if (row.status === 'succeeded' && !isMade)
      report('success-has-an-output', row, row.uuid, 'the upstream produced nothing');
  }
  return found;
}
