import { FAILURE_MESSAGES } from '../../../gateways/upstreams/index.ts';
import { BUSY, createSkippingBatcher } from '../../../lib/skippingBatcher.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { isRejection } from '../../../lib/database/errors.ts';
import { prepared, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../../lib/database/sqlFunctions.ts';
import { logger } from '../../../lib/logger.ts';
import { creditsRefunded, generationsCompleted } from '../../../lib/metrics.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { buildServiceCaller, type Caller } from '../../accounts/caller.ts';
import { withVerifiedCredential } from '../../accounts/lockedCredentials.ts';
import { LOCK_ACCOUNTS } from '../../credits/ledger.ts';
import { enqueueTasks } from '../../../queues/enqueue.ts';
import { DISPATCH_KIND } from '../../outbox/recordEvent.ts';
import { publishGenerationUpdate } from '../../../queues/generationUpdates.ts';
import type { GenerationFile } from '../../../tables/Generation.ts';
import { MINUTE_MS } from '../../../spec/durations.ts';
import { STEP_INTERVAL_MS } from './step.ts';

/** Delay before files of a failed generation are deleted from storage. Far longer than a download can take. */
const ORPHANED_MEDIA_DELAY_MS = 15 * MINUTE_MS;

/*
 * Ends generations by functions of the database. All start from `status = 'queued'`, so one caller wins each
 * generation, and only the winner frees the slot and, on failure, refunds. Accounts are locked first and in the order
 * of their ids, as everywhere. The event of an end is written with it, if a webhook follows from it.
 */

export interface GenerationSuccess extends GenerationKey, GenerationFile {
  more_outputs: GenerationFile[] | null;
  is_watermarked: boolean;
  /** Cost of the run for us, in cents with decimals; null if its price is not known. */
  provider_cost_cents: number | null;
}

export interface GenerationFailure extends GenerationKey {
  /** Shown to the customer. */
  message: string;
  /** The run that failed, by the time of its claim. Another run of the generation continues. Undefined ends any. */
  run?: Date;
}

export const COMPLETE_GENERATIONS = readSqlFunction(new URL('./completeGenerations.sql', import.meta.url), [
  LOCK_ACCOUNTS,
]);
export const FAIL_GENERATIONS = readSqlFunction(new URL('./failGenerations.sql', import.meta.url), [LOCK_ACCOUNTS]);
export const CANCEL_GENERATION = readSqlFunction(new URL('./cancelGeneration.sql', import.meta.url), [
  FAIL_GENERATIONS,
]);

const CALL_COMPLETE = prepared(
  'complete_generations',
  `SELECT * FROM ${COMPLETE_GENERATIONS.installedName}(:ends, :accounts, :uuids, :now, :waits)`,
);
const CALL_FAIL = prepared(
  'fail_generations',
  `SELECT * FROM ${FAIL_GENERATIONS.installedName}(:ends, :accounts, :uuids, :now, :filesAt, :canceled, :waits)`,
);
const CALL_CANCEL = prepared(
  'cancel_generation',
  `SELECT * FROM ${CANCEL_GENERATION.installedName}(:uuid, :account, :claimedAt, :now, :filesAt, :canceled)`,
);

/** Ends a generation with its outputs. @returns false if it had ended before. */
export const completeGeneration: (success: GenerationSuccess) => Promise<boolean> = createEndBatcher(CALL_COMPLETE);

/** Ends a generation without output and refunds its credits. @returns false if it had ended before. */
export const failGeneration: (failure: GenerationFailure) => Promise<boolean> = createEndBatcher(CALL_FAIL);

interface EndedRow {
  uuid: string;
  /** True if it has not ended, because another transaction keeps its account locked. */
  is_busy: boolean;
  is_test: boolean;
  /** True if an event was recorded for it. */
  has_webhook: boolean;
  /** Credits that were refunded. */
  credits?: number;
}

/**
 * Result of a cancellation, with the upstream that has accepted the generation; undefined if the generation had ended,
 * does not exist, or was cancelled before.
 */
export type Cancellation = { hasEnded: true } | { hasEnded: false; upstream: string | null; polledAt: Date | null };

/**
 * Ends and refunds a generation that certainly was not submitted, and records the request for any other queued one.
 * @param claimedAt fencing token of the caller's own claim; null if the caller has none.
 * @param caller who cancels.
 * @throws ServiceError if the key, the session or the grant of the caller is not valid any more
 */
export async function cancelUnsubmitted(
  { uuid, account_id }: GenerationKey,
  claimedAt: Date | null,
  caller: Caller = buildServiceCaller(account_id),
): Promise<Cancellation | undefined> {
  const at = now();
  const bindings = { uuid, account: account_id, claimedAt, now: at, ...getFailureBindings(at) };
  type CancelRow = Omit<EndedRow, 'uuid' | 'is_busy'> & {
    has_ended: boolean;
    upstream: string | null;
    polled_at: Date | null;
  };
  const [row] = await withVerifiedCredential('cancel generation', caller, (transaction) =>
    runStatement<CancelRow>(CALL_CANCEL, bindings, transaction),
  );
  if (row === undefined) return undefined;
  if (!row.has_ended) return { hasEnded: false, upstream: row.upstream, polledAt: row.polled_at };
  publishEnds([{ uuid, account_id, message: FAILURE_MESSAGES.canceledByOwner }], [{ ...row, uuid, is_busy: false }]);
  return { hasEnded: true };
}

/** Ends generations in batches, and those of busy accounts alone, so that the others do not wait for these accounts. */
function createEndBatcher(statement: Statement) {
  return createSkippingBatcher<GenerationSuccess | GenerationFailure, boolean>({
    maxItems: 64,
    maxInFlight: 2,
    intervalMs: STEP_INTERVAL_MS,
    isItemError: isRejection,
    getKey: (end) => end.uuid,
    run: async (ends, { waits }) => {
      const at = now();
      const rows = await runStatement<EndedRow>(statement, {
        ends: JSON.stringify(ends),
        accounts: ends.map(({ account_id }) => account_id),
        uuids: ends.map(({ uuid }) => uuid),
        now: at,
        ...getFailureBindings(at),
        waits,
      });
      const busy = new Set(rows.filter((row) => row.is_busy).map((row) => row.uuid));
      const ended = publishEnds(
        ends,
        rows.filter((row) => !row.is_busy),
      );
      return ends.map(({ uuid }) => (busy.has(uuid) ? BUSY : ended.has(uuid)));
    },
  });
}

const getFailureBindings = (at: Date) => ({
  filesAt: addMilliseconds(at, ORPHANED_MEDIA_DELAY_MS),
  canceled: FAILURE_MESSAGES.canceledByOwner,
});

/** Publishes and counts the ends that a statement has written. @returns their uuids. */
function publishEnds(ends: (GenerationSuccess | GenerationFailure)[], rows: EndedRow[]): Set<string> {
  const ended = new Set(rows.map((row) => row.uuid));
  const tests = new Set(rows.filter((row) => row.is_test).map((row) => row.uuid));
  for (const end of ends) if (ended.has(end.uuid)) publishCompletion(end, tests.has(end.uuid));
  creditsRefunded.inc(rows.reduce((sum, { credits = 0 }) => sum + credits, 0));
  if (rows.some((row) => row.has_webhook)) void enqueueTasks(DISPATCH_KIND);
  return ended;
}

function publishCompletion(end: GenerationSuccess | GenerationFailure, isTest: boolean): void {
  publishGenerationUpdate(end.uuid);
  if (!isTest) generationsCompleted.inc({ outcome: getOutcome(end) });
  if ('message' in end) logger.info({ generationId: end.uuid, reason: end.message }, 'generation failed and refunded');
  else logger.info({ generationId: end.uuid }, 'generation succeeded');
}

function getOutcome(end: GenerationSuccess | GenerationFailure): 'succeeded' | 'failed' | 'canceled' {
  if (!('message' in end)) return 'succeeded';
  return end.message === FAILURE_MESSAGES.canceledByOwner ? 'canceled' : 'failed';
}
