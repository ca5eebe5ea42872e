import { createBatcher } from '../../../lib/batcher.ts';
import { now } from '../../../lib/clock.ts';
import { isRejection } from '../../../lib/database/errors.ts';
import { type Bindings, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import type { Generation } from '../../../tables/Generation.ts';

/*
 * Parts that the steps of a generation between its charge and its end share. Each is one conditional
 * statement, in the file of its step: the process whose update finds the row in the expected state wins. SKIP LOCKED
 * keeps steps from waiting for each other. Its end, and the refund of a failed one, are in completeOrFail.ts.
 */

/** Delay between the time a step is due and the time the sweep re-enqueues it. */
export const SWEEP_GRACE_MS = 3_000;

/**
 * Time between two batches of the same step. In a steady flow it makes them larger; each step of a generation waits for
 * no longer than that, and none while the process has little to do.
 */
export const STEP_INTERVAL_MS = 5;

/** Tolerated difference between the clocks of two machines. */
export const CLOCK_SKEW_MS = 500;

/** Columns that submitting and polling need, as they are after the claim. */
export type ClaimedGeneration = Pick<
  Generation,
  | 'uuid'
  | 'account_id'
  | 'model'
  | 'prompt'
  | 'params'
  | 'created_at'
  | 'deadline_at'
  | 'unconfirmed_submits'
  | 'catalog_id'
  | 'cancel_requested_at'
  | 'submitted_at'
  | 'account_error_at'
  | 'upstream_output'
  | 'upstream_order'
  | 'failed_over_at'
> & {
  upstream: string;
  upstream_model: string;
  media_token: string;
  upstream_handle: NonNullable<Generation['upstream_handle']>;
  /** Time of the claim for submitting. Also the fencing token of the lease. */
  submit_started_at: Date;
  /** Delay until the next poll. Set by the refresh throttle only. */
  poll_delay_ms: number;
};

export const CLAIMED_COLUMNS = `g.uuid, g.account_id, g.model, g.prompt, g.params, g.created_at, g.deadline_at, g.unconfirmed_submits, g.media_token,
  g.upstream, g.upstream_model, g.upstream_handle, g.upstream_output, g.submitted_at, g.submit_started_at, g.cancel_requested_at, g.account_error_at,
  g.catalog_id, g.upstream_order, g.failed_over_at`;

/**
 * Time of the claim whose submission is the current run of a row. A later claim, or a fail-over, starts another one.
 */
export const CURRENT_RUN = 'coalesce(g.submitted_at, g.submit_started_at)';

/** Returns {@link CURRENT_RUN} as it was when a generation was claimed. */
export function getRun({ submitted_at, submit_started_at }: ClaimedGeneration): Date {
  return submitted_at ?? submit_started_at;
}

/**
 * Rows of a batch, by their primary key. The uuids alone would find them, too; the accounts restrict a partitioned
 * table to the partitions of the batch. `g.uuid = ANY` makes the planner use the index also if the table is small.
 */
export const WANTED_GENERATIONS = `unnest(cast(:uuids AS uuid[]), cast(:accounts AS bigint[])) AS wanted (uuid, account_id)
       JOIN generations g
         ON g.uuid = ANY (cast(:uuids AS uuid[])) AND g.uuid = wanted.uuid AND g.account_id = wanted.account_id`;

/** Returns the parameters of {@link WANTED_GENERATIONS}. */
export function toWantedBindings(generations: readonly GenerationKey[]): { uuids: string[]; accounts: number[] } {
  return {
    uuids: generations.map(({ uuid }) => uuid),
    accounts: generations.map(({ account_id }) => account_id),
  };
}

/** Columns of a {@link QueuedRow}. */
export const QUEUED_ROW_COLUMNS = `g.uuid, g.account_id, g.model, g.catalog_id, g.upstream_order, g.is_test, g.upstream,
          CASE WHEN g.upstream_handle IS NULL THEN 'dispatch' WHEN g.upstream_output IS NULL THEN 'poll' ELSE 'collect' END
            AS next_step`;

/**
 * Returns a function that makes a step for one generation, batched with concurrent calls into one statement, which
 * returns a row of each generation that it has changed.
 * @param bindings of the statement besides `uuids` and `now`.
 */
export function batchStep<Item extends { uuid: string }, Row extends { uuid: string } = ClaimedGeneration>(
  statement: Statement,
  bindings: (items: readonly Item[], at: Date) => Bindings | Promise<Bindings>,
): (item: Item) => Promise<Row | undefined> {
  return createBatcher<Item, Row | undefined>({
    maxItems: 64,
    maxInFlight: 2,
    intervalMs: STEP_INTERVAL_MS,
    isItemError: isRejection,
    // Two steps of one generation never share a statement.
    getKey: ({ uuid }) => uuid,
    run: async (items) => {
      const at = now();
      const uuids = items.map(({ uuid }) => uuid);
      const rows = await runStatement<Row>(statement, { uuids, now: at, ...(await bindings(items, at)) });
      const byUuid = new Map(rows.map((row) => [row.uuid, row]));
      return uuids.map((uuid) => byUuid.get(uuid));
    },
  });
}
