import { Model } from 'objection';

/** A user of a sign-in provider who is linked to a person. */
export class Identity extends Model {
  static override tableName = 'identities';
  static override idColumn = ['provider', 'issuer', 'subject'];

  /** Identifies it in forms and sessions. */
  declare uuid: string;
  declare provider: string;
  declare issuer: string;
  declare subject: string;
  declare person_id: number;
  declare email: string;
  declare created_at: Date;
  /** Time since which its sessions have staff rights; null if they do not. */
  declare staff_since: Date | null;
}
