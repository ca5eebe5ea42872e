import { Model } from 'objection';
import type { StaffRole } from '../spec/staff.ts';

/** A code that customers redeem for credits. */
export class GiftCode extends Model {
  static override tableName = 'gift_codes';
  static override idColumn = 'uuid';

  declare uuid: string;
  declare code_hash: Buffer;
  declare prefix: string;
  declare credits: number;
  declare uses_max: number;
  declare uses: number;
  declare expires_at: Date | null;
  declare note: string;
  declare created_by: number | null;
  declare role: StaffRole | null;
  declare created_at: Date;
  declare revoked_at: Date | null;
}
