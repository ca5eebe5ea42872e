import type { RemovedIdentity } from '../signIn/identityUndo.ts';
import type { AssignableRole } from '../../spec/roles.ts';
import type { EmailKind } from '../../spec/events.ts';

/** Facts of each kind of message: the details of the event that causes it. Times are ISO 8601. Never a secret. */
export interface EmailParams {
  /** `account.created` */
  welcome: object;
  /** `plan.activated`, with the time of the next monthly grant and of the renewal. */
  plan_active: { plan: string; credits: number; next_credits_at: string; renews_at: string };
  /** `credits.low` */
  credits_low: { balance: number; threshold: number };
  /** `topup.failed`. Nothing is sent for a manual one. */
  auto_topup_failed: { kind: 'automatic' | 'manual'; amount_cents: number; failure_code: string | null };
  /** `auto_topup.disabled`, with `auto_topup_problem` as reason. */
  auto_topup_disabled: { reason: string };
  /** `payment.failed`, with the time from which credits cannot be spent; null if they cannot be spent already. */
  payment_failed: { plan: string; spendable_until: string | null };
  /**
   * `renewal.upcoming`, with the current price of the plan. The charge depends on the subscription at the processor.
   */
  renewal_upcoming: { plan: string; amount_cents: number; renews_at: string; has_tax: boolean };
  /** `affiliate.payout` */
  payout_sent: { amount_cents: number };
  /** `payout.setup_missing` */
  payout_setup_missing: { amount_cents: number };
  /** `webhook.disabled`, with `disabled_reason` of the endpoint. */
  webhook_disabled: { url: string; reason: string };
  /** `key.created`, with the origin of the request. */
  key_created: { name: string; prefix: string; network: string; user_agent: string };
  /** `application.connected`, with the host that it returns to: applications choose their names themselves. */
  application_connected: { application: string; host: string; network: string; user_agent: string };
  /** `session.created` */
  new_sign_in: { provider: string; network: string; user_agent: string };
  /** `identity.removed`, with what its undo restores. */
  identity_removed: RemovedIdentity & { network: string; user_agent: string };
  /** `member.invited`, with the addresses of who invites and of the owner of the account. */
  member_invited: {
    inviter: string;
    account: string;
    role: AssignableRole;
    expires_at: string;
    invitation: string;
    sent_count: number;
  };
  /** `member.removed`, with the address of the owner of the account. */
  member_removed: { account: string };
  /** `member.role_changed`, with the address of the owner of the account. */
  member_role_changed: { account: string; role: AssignableRole };
  /** `account.handed_over`, with the address of the new owner and the origin of the request. */
  account_handed_over: { owner: string; network: string; user_agent: string };
  /** `account.received` */
  account_received: { former_owner: string };
}

/** A message with the facts of its kind. */
export type EmailContent = { [Kind in EmailKind]: { kind: Kind; params: EmailParams[Kind] } }[EmailKind];
