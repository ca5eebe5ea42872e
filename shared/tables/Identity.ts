import { Model } from 'objection';

/** An account as a sign-in provider knows it. */
export class Identity extends Model {
  static override tableName = 'identities';
  static override idColumn = ['provider', 'issuer', 'subject'];

  /** Names it in forms and in sessions. */
  declare uuid: string;
  declare provider: string;
  declare issuer: string;
  declare subject: string;
  declare account_id: number;
  declare email: string;
  declare created_at: Date;
  /** Sessions that it opens have staff rights; null: they have not. */
  declare staff_since: Date | null;
}
