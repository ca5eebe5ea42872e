import { Model } from 'objection';
import type { Scope } from '../spec/oauth.ts';

/** Consent of a user to a client: the family of all tokens issued from one approval. */
export class OAuthGrant extends Model {
  static override tableName = 'oauth_grants';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  /** The member who approved it, with whose role it acts. */
  declare member_number: number;
  declare client_id: string;
  declare scopes: Scope[];
  declare resource: string;
  /** Address that the authorization code was sent to. */
  declare redirect_uri: string;
  declare created_at: Date;
  /** Time at which the authorization code was exchanged. */
  declare connected_at: Date | null;
  declare last_used_at: Date | null;
  declare revoked_at: Date | null;
}
