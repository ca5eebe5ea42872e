import { Model } from 'objection';

/** A request that may be repeated, and the answer that it got. */
export class IdempotentRequest extends Model {
  static override tableName = 'idempotent_requests';
  static override idColumn = ['account_id', 'scope', 'key_hash'];

  declare account_id: number;
  declare scope: string;
  declare key_hash: Buffer;
  /** Names what is done for it, however often it is tried. */
  declare id: string;
  declare request_hash: Buffer;
  /** Encrypted with the key; null while it is being carried out. */
  declare answer: Buffer | null;
  declare created_at: Date;
}
