import { NoSpaceError, UNANNOUNCED_BYTES } from '../../../gateways/media/download.ts';
import type { UpstreamResult, UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import type { GenerationKey, SubmittedGeneration } from '../../../queues/catalog.ts';
import { enqueueAwaited, enqueueCollect, enqueuePoll } from '../../../queues/enqueue.ts';
import type { Generation } from '../../../tables/Generation.ts';
import { onSlotFreed } from './dispatch.ts';
import { finalizeGeneration } from './finalize.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { COLLECTION_LEASE_MS, withCollectionLease } from './lease.ts';
import { STORE_RETRY_DELAY_MS } from './retry.ts';
import {
  batchStep,
  CLAIMED_COLUMNS,
  type ClaimedGeneration,
  SWEEP_GRACE_MS,
  toWantedBindings,
  WANTED_GENERATIONS,
} from './step.ts';
import { getUpstreamSlots } from './upstreamSlots.ts';

/** A result, as the row of its generation holds it. */
type StoredOutput = NonNullable<Generation['upstream_output']>;

/** A run that has succeeded. */
type Success = Extract<UpstreamResult, { state: 'succeeded' }>;

/** An output that is not, or not yet, in the row of its generation. */
interface KeptOutput {
  result: Success;
  /** `failed_over_at` of its run: a generation may have another run by now. */
  run: Date | null;
}

/** Addresses that a row holds: a longer one is a `data:` address, which contains the file. */
const STORABLE_ADDRESS = /^[!-~]{1,4096}$/;

/**
 * Has the output of a run collected: by this process if it has a free slot, else by a job, for which the row says where
 * the output is. An output that no row can hold is collected by this process; if that dies, the next poll finds it
 * again.
 */
export async function passOutput(generation: SubmittedGeneration, kept: KeptOutput): Promise<void> {
  const output = toStorable(kept.result);
  const slots = getUpstreamSlots('collect', generation.upstream);
  if (output === undefined || slots.hasRoom(UNANNOUNCED_BYTES)) return addCollection(generation, { kept });
  const { uuid, account_id } = generation;
  await recordEnd(generation.upstream, { uuid, account_id, run: kept.run, output, claims: false });
  void (generation.isAwaited === true ? enqueueAwaited('collect', generation) : enqueueCollect(generation));
}

/** @returns undefined if a row cannot hold one of the addresses. */
function toStorable({ expiresInMs, outputs, ...facts }: Success): StoredOutput | undefined {
  const [first, ...others] = outputs.filter((output) => 'url' in output && STORABLE_ADDRESS.test(output.url));
  if (first === undefined || others.length < outputs.length - 1) return undefined;
  const expiry = expiresInMs === undefined ? {} : { expiresAt: addMilliseconds(now(), expiresInMs).toISOString() };
  return { ...facts, ...expiry, outputs: [first, ...others] as StoredOutput['outputs'] };
}

/** Stores the outputs of generations that have ended at their upstream, within the slots of each upstream. */
export function collectGenerations(generations: SubmittedGeneration[]): void {
  for (const generation of generations) addCollection(generation);
}

/**
 * @param options.kept an output that is not in the row.
 * @param options.bytes size of the output, if it is known.
 */
function addCollection(
  generation: SubmittedGeneration,
  { kept, bytes = UNANNOUNCED_BYTES }: { kept?: KeptOutput; bytes?: number } = {},
): void {
  const { uuid: generationId, upstream, isAwaited } = generation;
  const slots = getUpstreamSlots('collect', upstream);
  slots.add({ generationId, isAwaited, bytes, run: (resize) => collect(generation, kept, resize) });
}

async function collect(
  key: SubmittedGeneration,
  kept: KeptOutput | undefined,
  resize: (bytes: number) => boolean,
): Promise<void> {
  const generation = await claim(key, kept);
  if (generation === undefined) return;
  try {
    const result = kept?.result ?? toSuccess(generation.upstream_output as StoredOutput);
    if (result === undefined) throw new Error('the addresses of the outputs have expired');
    const route = (await getGenerationRoute(generation)) as UpstreamRoute;
    await withCollectionLease([generation], () => finalizeGeneration(generation, route, result, { resize }));
    // An output that no row holds has kept its place until now.
    if (generation.upstream_output === null) await onSlotFreed(generation.upstream);
  } catch (error) {
    await releaseAfter(error, generation, key, kept);
  }
}

async function claim(key: SubmittedGeneration, kept: KeptOutput | undefined): Promise<ClaimedGeneration | undefined> {
  if (kept === undefined) return claimCollection(key);
  const { result, run } = kept;
  const output = toStorable(result);
  const { uuid, account_id } = key;
  if (output !== undefined) return recordEnd(key.upstream, { uuid, account_id, run, output, claims: true });
  const generation = await claimKeptOutput(key);
  // A claim of another run: its polls continue once the lease has expired.
  return generation?.failed_over_at?.getTime() === run?.getTime() ? generation : undefined;
}

/** Records the end of a run, from which on it takes no place of the limit of its upstream. */
async function recordEnd(upstream: string, record: OutputRecord): Promise<ClaimedGeneration | undefined> {
  const generation = await recordOutput(record);
  await onSlotFreed(upstream);
  return generation;
}

/** @returns undefined if the addresses have expired: the upstream has others, or none. */
function toSuccess({ expiresAt, ...result }: StoredOutput): Success | undefined {
  return expiresAt !== undefined && new Date(expiresAt) <= now() ? undefined : result;
}

/**
 * Releases the claim of a collection that failed. An output for which there was no space starts over when there is.
 * Otherwise the upstream is asked again: the address may have expired. If the release fails, so does the lease.
 */
async function releaseAfter(
  error: unknown,
  generation: ClaimedGeneration,
  key: SubmittedGeneration,
  kept: KeptOutput | undefined,
): Promise<void> {
  if (error instanceof NoSpaceError) {
    await release(generation, SWEEP_GRACE_MS, 'ended');
    addCollection(key, { ...(kept === undefined ? {} : { kept }), bytes: error.bytes });
    return;
  }
  logger.warn({ err: error, generationId: key.uuid }, 'finalize failed; will poll again');
  await release(generation, STORE_RETRY_DELAY_MS + SWEEP_GRACE_MS, 'unknown');
  void enqueuePoll(key, STORE_RETRY_DELAY_MS);
}

interface OutputRecord extends GenerationKey {
  run: Date | null;
  output: StoredOutput;
  /** True if the caller collects it now: claims it with a lease in the same statement. */
  claims: boolean;
}

const RECORD_OUTPUT = prepared(
  'record_output',
  `WITH mine AS (
     SELECT g.uuid, g.account_id, r.output, r.claims
       FROM generations g
       JOIN json_to_recordset(:outputs) AS r (uuid uuid, account_id bigint, run timestamptz, output jsonb, claims boolean)
         ON r.uuid = g.uuid AND r.account_id = g.account_id
      WHERE g.uuid = ANY (:uuids) AND g.status = 'queued' AND g.upstream_handle IS NOT NULL
        AND g.failed_over_at IS NOT DISTINCT FROM r.run AND (g.leased_until IS NULL OR g.leased_until <= :now)
      ORDER BY g.uuid FOR NO KEY UPDATE OF g
   )
   UPDATE generations g
      SET upstream_output = mine.output, leased_until = CASE WHEN mine.claims THEN cast(:lease AS timestamptz) END,
          next_attempt_at = CASE WHEN mine.claims THEN cast(:lease AS timestamptz) ELSE :due END
     FROM mine WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id
   RETURNING ${CLAIMED_COLUMNS}`,
);

/**
 * Records that a run has ended with an output, and where that is: the next step is its collection. Returns undefined if
 * the generation has ended or has another run, or another worker collects the output.
 */
const recordOutput = batchStep<OutputRecord>(RECORD_OUTPUT, (outputs, at) => ({
  outputs: JSON.stringify(outputs),
  lease: addMilliseconds(at, COLLECTION_LEASE_MS),
  due: addMilliseconds(at, SWEEP_GRACE_MS),
}));

/**
 * Claims the collection of an output with a lease, or returns undefined if it has ended, or another worker collects it.
 */
function createClaim(name: string, condition: string) {
  return batchStep(
    prepared(
      name,
      `WITH free AS (
         SELECT g.uuid, g.account_id FROM ${WANTED_GENERATIONS}
          WHERE g.status = 'queued' AND g.upstream_handle IS NOT NULL AND ${condition}
            AND (g.leased_until IS NULL OR g.leased_until <= :now)
          ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
       )
       UPDATE generations g SET leased_until = :lease, next_attempt_at = :lease
         FROM free WHERE g.uuid = free.uuid AND g.account_id = free.account_id
       RETURNING ${CLAIMED_COLUMNS}`,
    ),
    (generations: readonly GenerationKey[], at) => ({
      ...toWantedBindings(generations),
      lease: addMilliseconds(at, COLLECTION_LEASE_MS),
    }),
  );
}

const claimCollection = createClaim('claim_collection', 'g.upstream_output IS NOT NULL');
const claimKeptOutput = createClaim('claim_kept_output', 'g.upstream_output IS NULL');

const RELEASE = prepared(
  'release_collection',
  `UPDATE generations
      SET leased_until = NULL, next_poll_at = NULL, next_attempt_at = :due,
          upstream_output = CASE WHEN :ended THEN upstream_output END
    WHERE uuid = :uuid AND account_id = :account_id AND status = 'queued' AND failed_over_at IS NOT DISTINCT FROM :run`,
);

/** Does nothing if the generation has another run meanwhile. */
async function release(
  { uuid, account_id, failed_over_at: run }: ClaimedGeneration,
  delayMs: number,
  state: 'ended' | 'unknown',
): Promise<void> {
  const due = addMilliseconds(now(), delayMs);
  await runStatement(RELEASE, { uuid, account_id, run, due, ended: state === 'ended' });
}
