import { Model } from 'objection';

/** A past, current or future signing key of access tokens. */
export class OAuthSigningKey extends Model {
  static override tableName = 'oauth_signing_keys';
  static override idColumn = 'number';

  declare number: number;
  declare kid: string;
  /** PKCS #8, in PEM. */
  declare private_key: string;
  declare created_at: Date;
  declare signs_from: Date;
}
