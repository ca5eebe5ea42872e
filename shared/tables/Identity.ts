import { Model } from 'objection';

/** An account as a sign-in provider knows it. */
export class Identity extends Model {
  static override tableName = 'identities';
  static override idColumn = ['provider', 'issuer', 'subject'];

  declare provider: string;
  declare issuer: string;
  declare subject: string;
  declare account_id: number;
  declare email: string;
  declare created_at: Date;
}
