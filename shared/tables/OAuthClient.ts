import { Model } from 'objection';

/** A program that asks for access: one that registered, or one that has a metadata document at its id. */
export class OAuthClient extends Model {
  static override tableName = 'oauth_clients';
  static override idColumn = 'client_id';

  declare client_id: string;
  declare name: string;
  declare redirect_uris: string[];
  declare created_at: Date;
  /** When somebody last approved it, or it was last given tokens by an approval. */
  declare last_used_at: Date | null;
  /** When a person was last asked to approve it; kept for clients that were never approved. */
  declare approval_requested_at: Date | null;
  /** Until when this copy of its metadata document will do; null for one that registered. */
  declare metadata_expires_at: Date | null;
}
