import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import type { Generation } from '../../tables/Generation.ts';
import { KNOWN_REASONS, OTHER_REASON } from '../generations/failureReasons.ts';

/** Columns of a generation that staff see without a reason: neither its prompt, nor its output, nor its error. */
const STAFF_COLUMNS = [
  'uuid',
  'account_id',
  'is_test',
  'number',
  'model',
  'status',
  'credits_charged',
  'plan_credits_charged',
  'upstream',
  'upstream_model',
  'unconfirmed_submits',
  'provider_cost_cents',
  'created_at',
  'completed_at',
  'deadline_at',
  'next_attempt_at',
  'polled_at',
  'deleted_at',
  'refunded_at',
] as const;

/** A generation as staff see it without a reason. */
export interface StaffGeneration extends Pick<Generation, (typeof STAFF_COLUMNS)[number]> {
  /** Reason of the failure, without what an upstream wrote, which may quote the prompt; null if it has not failed. */
  error_reason: string | null;
}

/** An error is emptied with the prompt after the deletion. */
const SELECT_FOR_STAFF = `SELECT ${STAFF_COLUMNS.join(', ')},
         CASE WHEN error_message = '' OR error_message = ANY (cast(:knownReasons AS text[])) THEN error_message
              WHEN error_message IS NOT NULL THEN cast(:otherReason AS text) END AS error_reason
    FROM generations`;
const REASONS = { knownReasons: KNOWN_REASONS, otherReason: OTHER_REASON };

const FIND_FOR_STAFF = prepared('find_generation_for_staff', `${SELECT_FOR_STAFF} WHERE uuid = :uuid`);

/** Finds a generation of any account, including deleted ones. @throws ServiceError not_found */
export async function findGenerationForStaff(uuid: string): Promise<StaffGeneration> {
  const [found] = await runStatement<StaffGeneration>(FIND_FOR_STAFF, { uuid, ...REASONS });
  if (found !== undefined) return found;
  throw new ServiceError('not_found', 'Not found. There is no generation with that UUID.');
}

const LIST_FOR_STAFF = prepared(
  'list_generations_for_staff',
  `${SELECT_FOR_STAFF}
    WHERE account_id = :accountId AND number < :before AND deleted_at IS NULL
    ORDER BY number DESC
    LIMIT :limit`,
);

/** A page of an account's generations, newest first. */
export interface StaffGenerationPage {
  items: StaffGeneration[];
  /** Cursor of the next page; null on the last page. */
  next: number | null;
}

/** Lists the generations of an account whose numbers are below the cursor, newest first, without deleted ones. */
export async function listGenerationsForStaff(
  accountId: number,
  before = Number.MAX_SAFE_INTEGER,
  limit = PAGE_SIZE,
): Promise<StaffGenerationPage> {
  const bindings = { accountId, before, limit: limit + 1, ...REASONS };
  const rows = await runStatement<StaffGeneration>(LIST_FOR_STAFF, bindings);
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1) as StaffGeneration).number : null };
}
