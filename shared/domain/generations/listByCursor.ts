import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';

/** Number of an account's generations, from the newest, among which a UUID is completed. */
const COMPLETED_AMONG = 1_000;

const COMPLETE_IDS = prepared(
  'complete_generation_ids',
  `SELECT uuid
     FROM (SELECT uuid, number FROM generations
            WHERE account_id = :accountId AND deleted_at IS NULL
            ORDER BY number DESC LIMIT :among) newest
    WHERE starts_with(cast(uuid AS text), cast(:prefix AS text))
    ORDER BY number DESC
    LIMIT :limit`,
);

const LIST_BY_CURSOR = prepared(
  'list_generations_by_cursor',
  `SELECT uuid, number, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
          thumbnail_path, is_watermarked, error_message, metadata
     FROM generations
    WHERE account_id = :accountId AND number < :before AND deleted_at IS NULL
    ORDER BY number DESC
    LIMIT :limit`,
);

/** A page of an account's generations, newest first. */
export interface CursorPage {
  items: Generation[];
  /** Cursor of the next page; null on the last page. */
  next: number | null;
}

/**
 * Lists the generations of an account, newest first, whose numbers are below the cursor. Generations that are created or
 * deleted between two pages cause no gaps and no duplicates.
 */
export async function listGenerationsByCursor(
  accountId: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<CursorPage> {
  const rows = await runStatement<Generation>(LIST_BY_CURSOR, { accountId, before, limit: PAGE_SIZE + 1 });
  const items = rows.slice(0, PAGE_SIZE).map((row) => Generation.fromDatabaseJson(row));
  return { items, next: rows.length > PAGE_SIZE ? (items.at(-1) as Generation).number : null };
}

/** Lists the UUIDs of an account's newest generations that start with a prefix, newest first. */
export async function completeGenerationIds(accountId: number, prefix: string, limit: number): Promise<string[]> {
  const bindings = { accountId, prefix: prefix.toLowerCase(), among: COMPLETED_AMONG, limit };
  const rows = await runStatement<{ uuid: string }>(COMPLETE_IDS, bindings);
  return rows.map(({ uuid }) => uuid);
}
