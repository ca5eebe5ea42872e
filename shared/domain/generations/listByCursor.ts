import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';

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
