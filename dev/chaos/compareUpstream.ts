import type { Queryable, Violation } from '../../shared/domain/credits/integrity/invariant.ts';
import type { UpstreamJob } from '../../test/fakes/upstreams/fal.ts';

const STATEMENTS = {
  'runs-are-ordered': 'An upstream runs nothing that no generation was charged for.',
  'run-once': 'A generation runs once, and once more at the most where the outcome of its submission was unknown.',
  'cancelled-was-not-wanted': 'A run is cancelled only where its generation has ended or waits for another run.',
  'success-was-made': 'A generation has succeeded only where the upstream has made something.',
} as const;

interface GenerationRow {
  account_id: string;
  uuid: string;
  prompt: string;
  status: string;
  unconfirmed_submits: number;
  request_id: string | null;
  ended_before_deadline: boolean;
}

/**
 * Finds queued generations whose recorded run was canceled. A recorded run is canceled only after its generation has
 * ended, so that this holds at every moment.
 */
export async function findWronglyCancelled(jobs: readonly UpstreamJob[], client: Queryable): Promise<Violation[]> {
  const cancelled = jobs.filter((job) => job.cancelled).map(({ id }) => id);
  if (cancelled.length === 0) return [];
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, uuid, upstream_handle ->> 'request_id' AS run
       FROM generations WHERE status = 'queued' AND upstream_handle ->> 'request_id' = ANY ($1::text[])`,
    [cancelled],
  );
  return (rows as { account_id: string; uuid: string; run: string }[]).map(({ account_id: accountId, uuid, run }) => ({
    invariant: 'cancelled-was-not-wanted',
    statement: STATEMENTS['cancelled-was-not-wanted'],
    accountId,
    subject: uuid,
    detail: `queued, with run ${run}, which was cancelled`,
  }));
}

/** Compares generations with the runs of the upstream, when nothing is in progress. */
export async function compareUpstream(jobs: readonly UpstreamJob[], client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, uuid, p.prompt, status, unconfirmed_submits,
            upstream_handle ->> 'request_id' AS request_id, completed_at < deadline_at AS ended_before_deadline
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
    if (row === undefined) report('runs-are-ordered', row, prompt, `${made.length} runs, and no generation`);
    else if (made.length > Math.min(2, 1 + row.unconfirmed_submits)) {
      report(
        'run-once',
        row,
        row.uuid,
        `${made.length} runs, ${row.unconfirmed_submits} submissions of unknown outcome`,
      );
    }
  }
  for (const row of generations.values()) {
    const isMade = runs.get(row.prompt)?.some(({ state }) => state === 'succeeded') === true;
    const recorded = runs.get(row.prompt)?.find(({ id }) => id === row.request_id);
    if (recorded?.cancelled === true && row.ended_before_deadline) {
      report('cancelled-was-not-wanted', row, row.uuid, `run ${recorded.id} was recorded, and then cancelled`);
    }
    if (row.status === 'succeeded' && !isMade) report('success-was-made', row, row.uuid, 'nothing was made upstream');
  }
  return found;
}
