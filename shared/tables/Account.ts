import { Model } from 'objection';
import type { EmailKind } from '../spec/events.ts';
import type { OnboardingStep } from '../spec/states.ts';

/** A customer: profile, entitlement, balance, and the counters that lists are paged by. */
export class Account extends Model {
  static override tableName = 'accounts';
  static override jsonAttributes = ['email_settings'];

  declare id: number;
  declare uuid: string;
  /** The account that this test account belongs to; null for a live account. */
  declare live_account_id: number | null;
  /** Address of the owner, copied as name, language, use case and provider are. */
  declare email: string;
  declare first_name: string;
  declare language: string;
  declare use_case: string;
  declare social_provider: string;
  declare onboarding_step: OnboardingStep;
  declare is_affiliate: boolean;
  declare created_at: Date;
  /** Time at which its personal data was erased. */
  declare erased_at: Date | null;
  /**
   * Time at which all of its sessions ended last. Those from before, which acted on other accounts, cannot switch to
   * it.
   */
  declare signed_out_at: Date | null;
  /** Time since which all credentials of the account are rejected; null if it is not suspended. */
  declare suspended_at: Date | null;
  /** Time at which the owner requested its deletion. Nothing can be created or bought while it is set. */
  declare deletion_requested_at: Date | null;

  /** Subscription that grants its entitlement and its plan credits. */
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
  /** `generation_count` at the start of the period. */
  declare generation_count_at_period_start: number;
  declare period_used: number;

  declare stripe_customer_id: string | null;
  /** True if the payment processor had a payment method on file at the last sync. */
  declare has_payment_method: boolean;
  /** Time at which a page was last opened on which the plan can be changed. */
  declare portal_opened_at: Date | null;
  declare auto_topup_enabled: boolean;
  declare auto_topup_amount_cents: number;
  declare auto_topup_threshold_credits: number;
  /** Start of the last automatic top-up. */
  declare auto_topup_claimed_at: Date | null;
  /**
   * Time at which a burn left the balance below the threshold. Cleared once that no longer holds, and by a suspension.
   */
  declare auto_topup_triggered_at: Date | null;
  /** Consecutive declined automatic top-ups. */
  declare auto_topup_declines: number;
  /** Reason for which the service switched automatic top-ups off. */
  declare auto_topup_problem: string | null;

  declare in_flight: number;
  declare generation_count: number;
  declare generations_deleted: number;
  declare ledger_count: number;
  /** Members that it has had, removed ones included. */
  declare member_count: number;
  declare key_count: number;
  declare active_key_count: number;
  /** Number of its rows in `spending_limits`, removed limits included. */
  declare spending_limit_count: number;

  /** Number of its enabled webhook endpoints. */
  declare webhook_count: number;
  /** Balance below which `credits.low` is recorded; null: a tenth of the credits granted for the month. */
  declare credits_low_threshold: number | null;
  /** Time at which `credits.low` was recorded. Cleared when the balance has recovered. */
  declare credits_low_since: Date | null;
  /** Kinds of e-mail messages that the owner has switched on or off. */
  declare email_settings: Partial<Record<EmailKind, boolean>>;
}
