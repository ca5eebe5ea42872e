import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { GenerationDeletionCount } from '../../tables/GenerationDeletionCount.ts';

/**
 * Finds the n-th remaining generation of an account. Deleted numbers are counted in blocks of 256 and again in blocks of
 * 65,536, so that the search reads one level's blocks with deletions and then those inside one block: some hundred rows
 * for an account with ten million generations, none without deletions.
 */
export const BLOCK_LEVELS = [1, 2] as const;
const BLOCK_FAN_OUT = 256;

export function blockSize(level: number): number {
  return BLOCK_FAN_OUT ** level;
}

const LIST_DELETION_BLOCKS = prepared(
  'list_deletion_blocks',
  `SELECT block, deleted FROM generation_deletion_counts
    WHERE account_id = :accountId AND level = :level AND block BETWEEN :first AND :last
    ORDER BY block`,
);

/** Boundary between two blocks. */
interface BlockBoundary {
  /** Last number before the boundary. */
  number: number;
  /** Remaining generations up to that number. */
  liveCount: number;
}

type DeletionBlock = Pick<GenerationDeletionCount, 'block' | 'deleted'>;

/**
 * Finds the smallest block that contains the rank-th oldest remaining generation.
 * @returns its last number, and the remaining generations up to it.
 */
export async function findBlock(
  accountId: number,
  rank: number,
): Promise<{ lastNumber: number; liveCountAtEnd: number }> {
  let start: BlockBoundary = { number: 0, liveCount: 0 };
  let end: BlockBoundary = { number: Number.MAX_SAFE_INTEGER, liveCount: Number.MAX_SAFE_INTEGER };
  for (const level of BLOCK_LEVELS.toReversed()) {
    const size = blockSize(level);
    const rows = await runStatement<DeletionBlock>(LIST_DELETION_BLOCKS, {
      accountId,
      level,
      first: start.number / size,
      last: Math.ceil(end.number / size) - 1,
    });
    ({ start, end } = findBlockAtLevel(start, rank, size, rows));
  }
  return { lastNumber: end.number, liveCountAtEnd: end.liveCount };
}

/** Skips the blocks that end before the rank-th generation. Blocks without a row have no deletions. */
function findBlockAtLevel(
  start: BlockBoundary,
  rank: number,
  size: number,
  rows: DeletionBlock[],
): { start: BlockBoundary; end: BlockBoundary } {
  let position = start;
  for (const { block, deleted } of rows) {
    const blockStart = { number: block * size, liveCount: position.liveCount + (block * size - position.number) };
    if (blockStart.liveCount >= rank) break;
    const liveCount = blockStart.liveCount + size - deleted;
    const blockEnd = { number: blockStart.number + size, liveCount };
    if (liveCount >= rank) return { start: blockStart, end: blockEnd };
    position = blockEnd;
  }
  // The target lies between blocks with deletions: count whole blocks from here.
  const blocks = Math.floor((rank - 1 - position.liveCount) / size);
  const blockStart = { number: position.number + blocks * size, liveCount: position.liveCount + blocks * size };
  return { start: blockStart, end: { number: blockStart.number + size, liveCount: blockStart.liveCount + size } };
}
