import { Model } from 'objection';

/** A sign-in that waits for the provider's redirect. */
export class SignInAttempt extends Model {
  static override tableName = 'sign_in_attempts';
  static override idColumn = 'state_hash';

  declare state_hash: Buffer;
  declare browser_hash: Buffer;
  declare provider: string;
  declare code_verifier: string;
  declare nonce: string;
  declare return_to: string;
  /** Code of the referral link that the browser followed. */
  declare referral_code: string | null;
  declare referral_clicked_at: Date | null;
  /** Hash of the browser's network. */
  declare referral_network: string | null;
  /** Account that was signed in in the browser. */
  declare referral_signed_in_account_id: number | null;
  /** Session whose account the identity is to be linked to; null for a plain sign-in. */
  declare linking_session_hash: Buffer | null;
  declare expires_at: Date;
}
