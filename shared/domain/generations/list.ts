import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { hasConditions } from '../../lib/listFilter.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import { type GenerationFilter, listFilteredGenerations } from './listFiltered.ts';
import { findBlock } from './ordinals.ts';

interface GenerationCounts {
  generation_count: number;
  generations_deleted: number;
}

/** @param position condition of the page's first item. */
const buildPage = (position: string, skip = '') => `
     SELECT number, uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
            thumbnail_path, is_watermarked, error_message, cancel_requested_at, metadata
       FROM generations
      WHERE account_id = :accountId AND ${position} AND deleted_at IS NULL
      ORDER BY number DESC
     ${skip} LIMIT :limit`;

/** Reads the counts with the page, which has no rows if generations of the account were deleted. */
const LIST_UNDELETED_PAGE = prepared(
  'list_undeleted_generations',
  `SELECT a.generation_count, a.generations_deleted, page.*
     FROM accounts a
     LEFT JOIN LATERAL (${buildPage('a.generations_deleted = 0 AND number <= a.generation_count - cast(:offset AS bigint)')}
     ) page ON true
    WHERE a.id = :accountId
    ORDER BY page.number DESC`,
);
const LIST_PAGE = prepared('list_generations', buildPage('number <= :newest', 'OFFSET :skip'));

/**
 * Lists the generations of an account, newest first. Every page takes about the same time, however long the list is:
 * its first item is found by its number, and the gaps that deleted generations leave are counted in blocks. With a
 * filter, see {@link listFilteredGenerations}.
 */
export async function listGenerations(
  accountId: number,
  page: number,
  filter: GenerationFilter = {},
): Promise<ListPage<Generation>> {
  if (hasConditions(filter)) return listFilteredGenerations(accountId, page, filter);
  const offset = getPageOffset(page);
  const found = await runStatement<Generation & GenerationCounts>(LIST_UNDELETED_PAGE, {
    accountId,
    offset,
    limit: PAGE_SIZE,
  });
  const counts = found[0] as GenerationCounts;
  const totalItems = counts.generation_count - counts.generations_deleted;
  const remaining = totalItems - offset;
  if (remaining <= 0) return { page, totalItems, items: [] };
  const rows = counts.generations_deleted === 0 ? found : await listRemaining(accountId, remaining, counts);
  await ensureModelsKnown(rows.map(({ model }) => model));
  return { page, totalItems, items: rows.map((row) => Generation.fromDatabaseJson(row)) };
}

/** Reads the page whose first item is the rank-th oldest remaining generation. */
async function listRemaining(accountId: number, rank: number, counts: GenerationCounts): Promise<Generation[]> {
  const { newest, skip } = await findPageStart(accountId, rank, counts);
  return runStatement<Generation>(LIST_PAGE, { accountId, newest, skip, limit: PAGE_SIZE });
}

/** Finds the start of the page whose first item is the rank-th oldest remaining generation. */
async function findPageStart(
  accountId: number,
  rank: number,
  counts: GenerationCounts,
): Promise<{ newest: number; skip: number }> {
  const block = await findBlock(accountId, rank);
  // Numbers of the last block that are not assigned yet.
  const unassigned = Math.max(0, block.lastNumber - counts.generation_count);
  // A deletion after the counts were read may have moved the start by some items, but never past the block's end.
  return { newest: block.lastNumber - unassigned, skip: Math.max(0, block.liveCountAtEnd - unassigned - rank) };
}
