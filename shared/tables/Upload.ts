import { Model } from 'objection';

/** An image of a customer. */
export class Upload extends Model {
  static override tableName = 'uploads';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare account_id: number;
  /** Form in which the image was provided. */
  declare source: 'upload' | 'url' | 'data' | 'generation';
  /**
   * - `pending`: its file has not arrived, or is not decoded yet.
   * - `ready`: decoded and stored without metadata.
   * - `failed`: the file is not an image that can be used.
   */
  declare status: 'pending' | 'ready' | 'failed';
  /** As announced by the client; that of the stored image once it is ready. */
  declare content_type: string;
  /** As announced by the client; that of the stored image once it is ready. */
  declare bytes: number;
  declare width: number | null;
  declare height: number | null;
  /** Sentence for the customer about a file that cannot be used. */
  declare error: string | null;
  /** Names the folder of its files. Secret. */
  declare media_token: string;
  declare created_at: Date;
  /** Time from which it is deleted unless a generation uses it. */
  declare expires_at: Date;
}
