import { Model } from 'objection';

/** A signed-in browser. Only the hash of its cookie is stored. */
export class Session extends Model {
  static override tableName = 'sessions';
  static override idColumn = 'token_hash';

  declare token_hash: Buffer;
  declare uuid: string;
  declare person_id: number;
  /** The account that it acts on, until the person switches, and the person's number there. */
  declare account_id: number;
  declare member_number: number;
  /** The identity that opened it; null for the local sign-in. */
  declare identity_uuid: string | null;
  /** `User-Agent` of the browser at sign-in. */
  declare user_agent: string;
  declare created_at: Date;
  declare last_used_at: Date;
  declare expires_at: Date;
}
