import { Model } from 'objection';

/** Number of deleted generations in a block of `256 ** level` sequence numbers of an account. */
export class GenerationDeletionCount extends Model {
  static override tableName = 'generation_deletion_counts';
  static override idColumn = ['account_id', 'level', 'block'];

  declare account_id: number;
  declare level: number;
  /** Index of the block, from 0. */
  declare block: number;
  declare deleted: number;
}
