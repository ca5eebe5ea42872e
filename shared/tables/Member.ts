import { Model } from 'objection';
import type { MemberRole } from '../spec/roles.ts';

/** Membership of a person in an account. The row stays after the removal. */
export class Member extends Model {
  static override tableName = 'members';
  static override idColumn = ['account_id', 'number'];

  declare account_id: number;
  /** Sequence number within the account, from 1, without gaps. */
  declare number: number;
  declare uuid: string;
  declare person_id: number;
  /** The last role, if the member was removed. */
  declare role: MemberRole;
  declare created_at: Date;
  /** Number of the member who invited it; null if it opened the account. */
  declare invited_by: number | null;
  declare removed_at: Date | null;
}
