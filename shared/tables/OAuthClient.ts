import { Model } from 'objection';

/** An OAuth client: registered, or described by a metadata document at its client id. */
export class OAuthClient extends Model {
  static override tableName = 'oauth_clients';
  static override idColumn = 'client_id';

  declare client_id: string;
  declare name: string;
  declare redirect_uris: string[];
  declare created_at: Date;
  /** Time of its last approval, or of the last tokens issued to it. */
  declare last_used_at: Date | null;
  /** Time at which a user was last asked for approval. Kept for clients that were never approved. */
  declare approval_requested_at: Date | null;
  /** Expiry of the cached metadata document; null for a registered client. */
  declare metadata_expires_at: Date | null;
}
