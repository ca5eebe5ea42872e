import { createBatcher } from '../../../lib/batcher.ts';
import { now } from '../../../lib/clock.ts';
import { type Bindings, isRejection, runStatement, type Statement } from '../../../lib/db.ts';
import type { Generation } from '../../../tables/Generation.ts';

/**
 * The steps of a job between its charge and its end, each one conditional statement: whoever's update finds the row
 * in the state that the step starts from may take it. SKIP LOCKED, so that a step never waits for another one.
 */

/** How long after the time that a step was due the sweep rings for it again. */
export const SWEEP_GRACE_MS = 3_000;

/** So much difference between two machines' clocks is forgiven. */
export const CLOCK_SKEW_MS = 500;

/** What a step needs to know of its job. */
export type ClaimedGeneration = Pick<
  Generation,
  'uuid' | 'model' | 'prompt' | 'params' | 'created_at' | 'deadline_at' | 'unconfirmed_submits'
> & {
  upstream: string | null;
  upstream_model: string | null;
  media_token: string;
  upstream_handle: NonNullable<Generation['upstream_handle']>;
  /** When it was claimed for submitting. */
  submit_started_at: Date;
  /** How long after passing the gate to look again. */
  poll_delay_ms: number;
};

export const CLAIMED_COLUMNS = `g.uuid, g.model, g.prompt, g.params, g.created_at, g.deadline_at, g.unconfirmed_submits, g.media_token,
  g.upstream, g.upstream_model, g.upstream_handle, g.submit_started_at`;

/** A step for one generation that goes together with those of others in one statement. */
export function transition(
  statement: Statement,
  moreBindings: (at: Date) => Bindings | Promise<Bindings>,
): (uuid: string) => Promise<ClaimedGeneration | undefined> {
  return createBatcher<string, ClaimedGeneration | undefined>({
    maxItems: 64,
    maxInFlight: 2,
    isItemError: isRejection,
    getKey: (uuid) => uuid,
    run: async (uuids) => {
      const at = now();
      const rows = await runStatement<ClaimedGeneration>(statement, { uuids, now: at, ...(await moreBindings(at)) });
      const byUuid = new Map(rows.map((row) => [row.uuid, row]));
      return uuids.map((uuid) => byUuid.get(uuid));
    },
  });
}
