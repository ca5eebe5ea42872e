import { Model } from 'objection';
import type { OnboardingStep } from '../spec/states.ts';

/** A customer: who they are, what they may spend, and the counters that their lists page by. */
export class Account extends Model {
  static override tableName = 'accounts';

  declare id: number;
  declare uuid: string;
  declare email: string;
  declare first_name: string;
  declare language: string;
  declare use_case: string;
  declare social_provider: string;
  declare onboarding_step: OnboardingStep;
  declare is_affiliate: boolean;
  declare created_at: Date;
  /** First sign-in with the address on the staff list. */
  declare staff_since: Date | null;
  /** When its personal data was erased. */
  declare erased_at: Date | null;

  /** The subscription that it lives under, and whose plan credits it has. */
  declare subscription_id: number | null;
  declare plan_slug: string | null;
  declare spendable_until: Date | null;
  declare parallel_limit: number;

  declare balance: number;
  declare plan_credits: number;
  declare topup_credits: number;

  declare period_index: number;
  declare period_start: Date | null;
  declare period_end: Date | null;
  declare period_granted: number;
  declare period_rollover: number;
  /** Of the last generation that was created before the period. */
  declare generation_count_at_period_start: number;
  declare period_used: number;

  declare stripe_customer_id: string | null;
  /** Whether the processor has a payment method on file, when it was last asked. */
  declare has_payment_method: boolean;
  declare auto_topup_enabled: boolean;
  declare auto_topup_amount_cents: number;
  declare auto_topup_threshold_credits: number;
  /** When the last automatic top-up was begun. */
  declare auto_topup_claimed_at: Date | null;
  /** When a burn left the balance below the threshold, until a top-up is claimed for it or the balance recovers. */
  declare auto_topup_triggered_at: Date | null;
  /** Declined automatic top-ups in a row. */
  declare auto_topup_declines: number;
  /** Why we switched automatic top-ups off. */
  declare auto_topup_problem: string | null;

  declare in_flight: number;
  declare generation_count: number;
  declare generations_deleted: number;
  declare ledger_count: number;
  declare key_count: number;
  declare active_key_count: number;
}
