import { Model } from 'objection';
import type { KeyScope } from '../spec/oauth.ts';

/** A personal API key. Only its hash and its first characters are stored. */
export class ApiKey extends Model {
  static override tableName = 'api_keys';
  static override idColumn = 'key_hash';

  declare key_hash: Buffer;
  declare uuid: string;
  declare account_id: number;
  /** The test account that it acts on; null for a live key, which acts on its own account. */
  declare test_account_id: number | null;
  /** Sequence number within the account, from 1, without gaps. */
  declare number: number;
  /** The member who created it, with whose role it acts. */
  declare member_number: number;
  declare name: string;
  declare prefix: string;
  declare last_used_at: Date | null;
  declare revoked_at: Date | null;
  declare created_at: Date;
  /** Null: the whole account without other options, `svc:read` and `svc:write` with one. */
  declare scopes: KeyScope[] | null;
  declare expires_at: Date | null;
  /** Slugs of the models that it may use; null: all. */
  declare allowed_models: string[] | null;
  /** Networks in CIDR notation from which it may be used; null: all. */
  declare allowed_ips: string[] | null;
  /** True if it was created for a staff account by a session, or a key, that had no staff rights. */
  declare lacks_staff_rights: boolean;
  /** Number of changes of the options. */
  declare version: number;
}
