import { prepared, run } from '../../lib/db.ts';
import { offsetOf, type Page } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Generation } from '../../tables/Generation.ts';
import { blockOf } from './deletions.ts';

interface Counts {
  generation_count: number;
  generations_deleted: number;
}

const PAGE = prepared(
  'list_generations',
  `SELECT uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path, thumbnail_path,
          is_watermarked, error_message
     FROM generations
    WHERE account_id = :accountId AND number <= :newest AND deleted_at IS NULL
    ORDER BY number DESC
   OFFSET :skip LIMIT :limit`,
);

/**
 * Generations of an account, newest first. Every page costs about the same, however long the list: its first item is
 * found by number, in which the deleted ones leave gaps that are counted in blocks.
 */
export async function listGenerations(accountId: number, page: number): Promise<Page<Generation>> {
  const counts: Counts = await Account.query()
    .findById(accountId)
    .select('generation_count', 'generations_deleted')
    .throwIfNotFound();
  const totalItems = counts.generation_count - counts.generations_deleted;
  const remaining = totalItems - offsetOf(page);
  if (remaining <= 0) return { page, totalItems, items: [] };
  const { newest, skip } = await firstOfPage(accountId, remaining, counts);
  const rows = await run<Generation>(PAGE, { accountId, newest, skip, limit: PAGE_SIZE });
  return { page, totalItems, items: rows.map((row) => Generation.fromDatabaseJson(row)) };
}

/** Where a page begins whose first item is the rank-th oldest of those that are left. */
async function firstOfPage(accountId: number, rank: number, counts: Counts): Promise<{ newest: number; skip: number }> {
  if (counts.generations_deleted === 0) return { newest: rank, skip: 0 };
  const block = await blockOf(accountId, rank);
  // Numbers of the last block that were not given out yet are no items.
  const unused = Math.max(0, block.lastNumber - counts.generation_count);
  // A deletion since the counts were read may have moved the place by some items, but never to before the block's end.
  return { newest: block.lastNumber - unused, skip: Math.max(0, block.livesUpToItsEnd - unused - rank) };
}
