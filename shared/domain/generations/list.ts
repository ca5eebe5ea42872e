import { prepared, runStatement } from '../../lib/db.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Generation } from '../../tables/Generation.ts';
import { findBlock } from './ordinals.ts';

interface GenerationCounts {
  generation_count: number;
  generations_deleted: number;
}

const LIST_PAGE = prepared(
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
export async function listGenerations(accountId: number, page: number): Promise<ListPage<Generation>> {
  const counts: GenerationCounts = await Account.query()
    .findById(accountId)
    .select('generation_count', 'generations_deleted')
    .throwIfNotFound();
  const totalItems = counts.generation_count - counts.generations_deleted;
  const remaining = totalItems - getPageOffset(page);
  if (remaining <= 0) return { page, totalItems, items: [] };
  const { newest, skip } = await findPageStart(accountId, remaining, counts);
  const rows = await runStatement<Generation>(LIST_PAGE, { accountId, newest, skip, limit: PAGE_SIZE });
  return { page, totalItems, items: rows.map((row) => Generation.fromDatabaseJson(row)) };
}

/** Where a page begins whose first item is the rank-th oldest of those that are left. */
async function findPageStart(
  accountId: number,
  rank: number,
  counts: GenerationCounts,
): Promise<{ newest: number; skip: number }> {
  if (counts.generations_deleted === 0) return { newest: rank, skip: 0 };
  const block = await findBlock(accountId, rank);
  // Numbers of the last block that were not given out yet are no items.
  const unassigned = Math.max(0, block.lastNumber - counts.generation_count);
  // A deletion since the counts were read may have moved the place by some items, but never to before the block's end.
  return { newest: block.lastNumber - unassigned, skip: Math.max(0, block.livesUpToItsEnd - unassigned - rank) };
}
