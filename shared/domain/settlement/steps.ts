import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { isRefusal, type Bindings, prepared, run, type Statement } from '../../lib/db.ts';
import { REFRESH_INTERVAL_MS } from '../../spec/limits.ts';
import type { Generation } from '../../tables/Generation.ts';

/**
 * The steps of a job between its charge and its end, each one conditional statement: whoever's update finds the row
 * in the state that the step starts from may take it. SKIP LOCKED, so that a step never waits for another one.
 */

/** How long after the time that a step was due the sweep rings for it again. */
const GRACE_MS = 3_000;

/** The claim's own way to the database and back, and the submit, take no longer; then another worker may have the job. */
const LEASE_MS = config.UPSTREAM_TIMEOUT_MS + 2 * config.DATABASE_TIMEOUT_MS + 1_500;

/** What a step needs to know of its job. */
export type Job = Pick<
  Generation,
  'uuid' | 'model' | 'prompt' | 'params' | 'created_at' | 'unknown_submits' | 'media_token'
> & {
  upstream_handle: NonNullable<Generation['upstream_handle']>;
  /** When it was claimed for submitting. */
  submitting_since: Date;
  /** How long after passing the gate to look again. */
  poll_delay_ms: number;
};

const JOB_COLUMNS =
  'g.uuid, g.model, g.prompt, g.params, g.created_at, g.unknown_submits, g.media_token, g.upstream_handle, g.submitting_since';

/** `age / 5`, but at least 2 and at most 8 seconds: how long to wait before looking at a running job again. */
const POLL_DELAY = `least(interval '8 seconds', greatest(interval '2 seconds', (cast(:now AS timestamptz) - g.created_at) / 5))`;

/** A step for one generation that goes together with those of others in one statement. */
function step(statement: Statement, moreBindings: (at: Date) => Bindings): (uuid: string) => Promise<Job | undefined> {
  return createBatcher<string, Job | undefined>({
    maxItems: 64,
    maxInFlight: 2,
    isOneItemsFault: isRefusal,
    keyOf: (uuid) => uuid,
    run: async (uuids) => {
      const at = now();
      const rows = await run<Job>(statement, { uuids, now: at, ...moreBindings(at) });
      const jobs = new Map(rows.map((row) => [row.uuid, row]));
      return uuids.map((uuid) => jobs.get(uuid));
    },
  });
}

/**
 * Takes a job for submitting, or undefined where it is over, submitted, or in another worker's hands. A job that is
 * found in the middle of a submit was left there by a worker that died or got no answer: that one is counted.
 */
export const claimSubmit = step(
  prepared(
    'claim_submit',
    `WITH free AS (
       SELECT uuid FROM generations
        WHERE uuid = ANY (:uuids) AND status = 'queued' AND upstream_handle IS NULL
          AND (leased_until IS NULL OR leased_until <= :now)
        ORDER BY uuid FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE generations g
        SET unknown_submits = g.unknown_submits + cast(g.submitting_since IS NOT NULL AS int), submitting_since = :now,
            leased_until = :lease, due_at = :lease, media_token = coalesce(g.media_token, gen_random_uuid())
       FROM free WHERE g.uuid = free.uuid
     RETURNING ${JOB_COLUMNS}`,
  ),
  (at) => ({ lease: addMilliseconds(at, LEASE_MS) }),
);

/**
 * Takes the right to look at a job's upstream, or undefined where somebody did less than 2 seconds ago: the one gate
 * of reads and polls over all processes. Whoever passes it rings for the next poll, `poll_delay_ms` later, and so a
 * poll that comes earlier than the last passage has set finds the gate shut, and its chain ends in favour of that one.
 */
function gate(name: string, isDue: string) {
  return step(
    prepared(
      name,
      `WITH open AS (
         SELECT g.uuid FROM generations g
          WHERE g.uuid = ANY (:uuids) AND g.status = 'queued' AND g.upstream_handle IS NOT NULL
            AND (g.polled_at IS NULL OR g.polled_at <= :before) ${isDue}
          ORDER BY g.uuid FOR NO KEY UPDATE SKIP LOCKED
       )
       UPDATE generations g
          SET polled_at = :now, next_poll_at = cast(:now AS timestamptz) + ${POLL_DELAY},
              due_at = cast(:now AS timestamptz) + ${POLL_DELAY} + interval '${GRACE_MS} milliseconds'
         FROM open WHERE g.uuid = open.uuid
       RETURNING ${JOB_COLUMNS}, cast(1000 * extract(epoch FROM ${POLL_DELAY}) AS int) AS poll_delay_ms`,
    ),
    (at) => ({ before: addMilliseconds(at, -REFRESH_INTERVAL_MS) }),
  );
}

export const passGateToRead = gate('gate_read', '');
// Half a second of difference between two machines' clocks is forgiven.
export const passGateToPoll = gate(
  'gate_poll',
  `AND (g.next_poll_at IS NULL OR g.next_poll_at <= cast(:now AS timestamptz) + interval '500 milliseconds')`,
);

interface Receipt {
  uuid: string;
  handle: Record<string, unknown>;
}

const ACCEPTED = prepared(
  'record_accepted',
  `WITH mine AS (
     SELECT uuid FROM generations WHERE uuid = ANY (:uuids) AND upstream_handle IS NULL ORDER BY uuid FOR NO KEY UPDATE
   )
   UPDATE generations g
      SET upstream_handle = r.handle, submitting_since = NULL, leased_until = NULL, due_at = :due
     FROM json_to_recordset(:receipts) AS r (uuid uuid, handle jsonb), mine
    WHERE g.uuid = mine.uuid AND g.uuid = r.uuid AND g.upstream_handle IS NULL`,
);

/** Writes down that, and as what, the upstream took a job. */
export const recordAccepted = createBatcher<Receipt, void>({
  maxItems: 64,
  maxInFlight: 2,
  isOneItemsFault: isRefusal,
  run: async (receipts) => {
    const due = addMilliseconds(now(), REFRESH_INTERVAL_MS + GRACE_MS);
    const uuids = receipts.map(({ uuid }) => uuid);
    await run(ACCEPTED, { uuids, receipts: JSON.stringify(receipts), due });
    return [];
  },
});

const RETURN = prepared(
  'return_job',
  `UPDATE generations
      SET leased_until = NULL, due_at = :due, submitting_since = CASE WHEN :unknown THEN submitting_since END
    WHERE uuid = :uuid AND upstream_handle IS NULL AND submitting_since = :since`,
);

/**
 * Gives a claimed job back to be submitted again later; where the outcome is unknown, the next claim counts that. One
 * that another worker has claimed since is left to it.
 */
export async function returnJob(job: Job, delayMs: number, outcome: 'not accepted' | 'unknown'): Promise<void> {
  const { uuid, submitting_since: since } = job;
  await run(RETURN, { uuid, since, due: addMilliseconds(now(), delayMs + GRACE_MS), unknown: outcome === 'unknown' });
}

const HOLD = prepared(
  'hold_gates',
  `UPDATE generations g SET polled_at = :now, due_at = :due
     FROM (SELECT uuid FROM generations WHERE uuid = ANY (:uuids) AND status = 'queued'
            ORDER BY uuid FOR NO KEY UPDATE SKIP LOCKED) mine
    WHERE g.uuid = mine.uuid`,
);

const held = new Set<string>();
let holding: NodeJS.Timeout | undefined;

/**
 * Keeps a job's gate shut while its output is being collected, by renewing it every second: nobody else starts on
 * the same output, and when this process dies the gate opens 2 seconds later.
 */
export async function whileHoldingGate<Result>(uuid: string, work: () => Promise<Result>): Promise<Result> {
  held.add(uuid);
  holding ??= setInterval(() => {
    const at = now();
    run(HOLD, { uuids: [...held], now: at, due: addMilliseconds(at, GRACE_MS) }).catch(() => {});
  }, REFRESH_INTERVAL_MS / 2);
  try {
    return await work();
  } finally {
    held.delete(uuid);
    if (held.size === 0) {
      clearInterval(holding);
      holding = undefined;
    }
  }
}
