import { Model } from 'objection';

/** Someone who signs in: a member of one or several accounts. */
export class Person extends Model {
  static override tableName = 'people';

  declare id: number;
  declare uuid: string;
  /** Verified at the first sign-in. */
  declare email: string;
  declare first_name: string;
  declare language: string;
  declare use_case: string;
  declare social_provider: string;
  declare created_at: Date;
  /** Time of the first sign-in with an address on the staff list. */
  declare staff_since: Date | null;
  /** The account that it switched to last, which its next sign-in opens. */
  declare current_account_id: number | null;
  /** Time at which its personal data was erased. */
  declare erased_at: Date | null;
}
