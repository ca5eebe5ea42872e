import { prepared, runStatement } from '../../lib/db.ts';

/**
 * Deleted numbers are counted in blocks of 256 and again in blocks of 65,536, so that the rank-th item that is left
 * is found by looking at the blocks with deletions of one level and then at those inside one block of it: some
 * hundreds of rows at the most for an account with ten million generations, none for one that never deleted.
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

interface BlockPosition {
  /** The number that the block begins after. */
  before: number;
  /** How many items are left up to there. */
  lives: number;
}

/**
 * The smallest block that the rank-th oldest item left lies in.
 * @returns its last number, and how many items are left up to that one.
 */
export async function findBlock(
  accountId: number,
  rank: number,
): Promise<{ lastNumber: number; livesUpToItsEnd: number }> {
  let position: BlockPosition = { before: 0, lives: 0 };
  let end = { number: Number.MAX_SAFE_INTEGER, lives: Number.MAX_SAFE_INTEGER };
  for (const level of BLOCK_LEVELS.toReversed()) {
    const size = blockSize(level);
    const rows = await runStatement<{ block: number; deleted: number }>(LIST_DELETION_BLOCKS, {
      accountId,
      level,
      first: position.before / size,
      last: Math.ceil(end.number / size) - 1,
    });
    ({ position, end } = findBlockAtLevel(position, rank, size, rows));
  }
  return { lastNumber: end.number, livesUpToItsEnd: end.lives };
}

/** Passes over the blocks that end before the rank-th item; blocks without a row have no deletions. */
function findBlockAtLevel(
  start: BlockPosition,
  rank: number,
  size: number,
  rows: { block: number; deleted: number }[],
) {
  let position = start;
  for (const { block, deleted } of rows) {
    const begin = { before: block * size, lives: position.lives + (block * size - position.before) };
    if (begin.lives >= rank) break;
    const lives = begin.lives + size - deleted;
    if (lives >= rank) return { position: begin, end: { number: begin.before + size, lives } };
    position = { before: begin.before + size, lives };
  }
  // In a stretch without deletions: count off whole blocks of it.
  const blocks = Math.floor((rank - 1 - position.lives) / size);
  const begin = { before: position.before + blocks * size, lives: position.lives + blocks * size };
  return { position: begin, end: { number: begin.before + size, lives: begin.lives + size } };
}
