import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';

/** Columns of a generation that staff see without a reason: neither its prompt nor its output. */
const STAFF_COLUMNS = [
  'uuid',
  'account_id',
  'number',
  'model',
  'status',
  'credits_charged',
  'plan_credits_charged',
  'error_message',
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

export type StaffGeneration = Pick<Generation, (typeof STAFF_COLUMNS)[number]>;

/** Finds a generation of any account, including deleted ones. @throws ServiceError not_found */
export async function findGenerationForStaff(uuid: string): Promise<StaffGeneration> {
  const found = await Generation.query().where({ uuid }).select(STAFF_COLUMNS).first();
  if (found !== undefined) return found;
  throw new ServiceError('not_found', 'Not found. There is no generation with that UUID.');
}

const LIST_FOR_STAFF = prepared(
  'list_generations_for_staff',
  `SELECT ${STAFF_COLUMNS.join(', ')} FROM generations
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
  const rows = await runStatement<StaffGeneration>(LIST_FOR_STAFF, { accountId, before, limit: limit + 1 });
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1) as StaffGeneration).number : null };
}
