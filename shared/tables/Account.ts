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
  declare created_at: Date;

  declare plan_slug: string | null;
  declare spend_until: Date | null;
  declare parallel_limit: number;

  declare balance: number;
  declare plan_credits: number;
  declare topup_credits: number;

  declare period_index: number;
  declare period_start: Date | null;
  declare period_end: Date | null;
  declare period_granted: number;
  declare period_rollover: number;
  declare period_used: number;

  declare in_flight: number;
  declare generation_count: number;
  declare generations_deleted: number;
  declare ledger_count: number;
  declare key_count: number;
  declare active_key_count: number;
}
