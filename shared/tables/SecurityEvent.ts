import { Model } from 'objection';

/** An event of the security log of an account. Rows are inserted and deleted, never changed. */
export class SecurityEvent extends Model {
  static override tableName = 'security_events';

  declare id: number;
  declare account_id: number;
  /** The member who caused it, or whose access changed; null for the service and its staff. */
  declare member_number: number | null;
  declare event: string;
  /** Network prefix of the request; empty if the service or its staff caused the event. */
  declare network: string;
  declare user_agent: string;
  declare details: Record<string, string | number>;
  declare created_at: Date;
}
