import { Model } from 'objection';

/** A plan that a subscription was paid for. Of several that apply at a time, the latest one counts. */
export class SubscriptionPlan extends Model {
  static override tableName = 'subscription_plans';

  declare id: number;
  declare subscription_id: number;
  declare plan_slug: string;
  /** Price at the payment processor; null if the payment was simulated. */
  declare price_id: string | null;
  /** Invoice that pays for the plan; null for a change without an invoice. */
  declare stripe_invoice_id: string | null;
  /** Start of the year of an annual invoice, payment of an upgrade, or when a change without an invoice was seen. */
  declare applies_from: Date;
  declare applies_until: Date;
  /** When the whole payment had been returned; null while a part is left. */
  declare returned_at: Date | null;
}
