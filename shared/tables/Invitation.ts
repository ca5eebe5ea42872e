import { Model } from 'objection';
import type { AssignableRole } from '../spec/roles.ts';

/** Invitation of an e-mail address to an account. */
export class Invitation extends Model {
  static override tableName = 'invitations';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  /** Only a person with this address can accept it. */
  declare email: string;
  declare role: AssignableRole;
  /** Number of the member who sent it last. It is revoked once that member may not invite any more. */
  declare invited_by: number;
  declare created_at: Date;
  /** Messages that were sent. The link of each is valid until the next one. */
  declare sent_count: number;
  declare expires_at: Date;
  declare accepted_at: Date | null;
  declare revoked_at: Date | null;
}
