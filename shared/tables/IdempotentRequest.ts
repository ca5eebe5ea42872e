import { Model } from 'objection';

/** A request with an Idempotency-Key, and its response. */
export class IdempotentRequest extends Model {
  static override tableName = 'idempotent_requests';
  static override idColumn = ['account_id', 'scope', 'key_hash'];

  declare account_id: number;
  declare scope: string;
  declare key_hash: Buffer;
  /** Identifies the effects of the request, the same for every attempt. */
  declare id: string;
  declare request_hash: Buffer;
  /** Response, encrypted with the key; null while the request is in progress. */
  declare response: Buffer | null;
  declare created_at: Date;
}
