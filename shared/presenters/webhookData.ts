import Type, { type Static, type TSchema } from 'typebox';
import { perService } from '../lib/serviceScope.ts';
import type { WebhookEventType } from '../spec/events.ts';
import type { OutboxEvent } from '../tables/OutboxEvent.ts';
import { ApiKeyResponse } from './apiKey.ts';
import { getBillingStatusResponse } from './billingStatus.ts';
import { presentAs, textOrNull, Timestamp, Uuid } from './fields.ts';
import { getGenerationResponse } from './generation.ts';
import { LedgerEntryResponse } from './ledgerEntry.ts';

/** Objects in the `data` of webhooks that no endpoint of the API returns. They consist of the details of the event. */

export const LowCreditsData = Type.Object({
  generation: Type.String({ format: 'uuid', description: 'The generation whose charge left the balance low' }),
  balance: Type.Integer({ description: 'Credits that are left' }),
  threshold: Type.Integer({ description: 'The balance counts as low below this' }),
});

export const TopupData = Type.Object({
  uuid: Uuid,
  kind: Type.Enum(['manual', 'automatic']),
  status: Type.Enum(['succeeded', 'failed']),
  amount_cents: Type.Integer({ description: 'The ordered amount, without tax' }),
  credits: Type.Integer({ description: 'Credits that were added, or would have been' }),
  failure_code: textOrNull({ description: 'Reason of the failure; null if it succeeded' }),
  completed_at: Timestamp,
});

export const CommissionData = Type.Object({
  amount_cents: Type.Integer(),
  paid_at: Type.Unsafe<string>({ ...Timestamp, description: 'Time at which the referred customer paid' }),
  payable_at: Type.Unsafe<string>({ ...Timestamp, description: 'The commission is part of the next payout after it' }),
});

export const PayoutData = Type.Object({
  uuid: Uuid,
  month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
  amount_cents: Type.Integer(),
  paid_at: Type.Unsafe<string>({ ...Timestamp, description: 'Time at which it was transferred' }),
});

/** Schema of the `data` of each type of webhook. */
export const getWebhookDataSchemas = perService(
  () =>
    ({
      'generation.succeeded': getGenerationResponse(),
      'generation.failed': getGenerationResponse(),
      'credits.low': LowCreditsData,
      'credits.granted': LedgerEntryResponse,
      'topup.succeeded': TopupData,
      'topup.failed': TopupData,
      'subscription.updated': getBillingStatusResponse(),
      'key.created': ApiKeyResponse,
      'key.revoked': ApiKeyResponse,
      'affiliate.commission': CommissionData,
      'affiliate.payout': PayoutData,
    }) as const satisfies Record<WebhookEventType, TSchema>,
);

/** `data` of a type of webhook. */
export type WebhookData<TypeName extends WebhookEventType> = Static<ReturnType<typeof getWebhookDataSchemas>[TypeName]>;

/** The row of an event that its `data` is presented from. */
export type EventFacts<Details> = Pick<OutboxEvent, 'subject' | 'created_at'> & { details: Details };

export function presentLowCredits({
  subject,
  details,
}: EventFacts<{ balance: number; threshold: number }>): Static<typeof LowCreditsData> {
  return { generation: subject, balance: details.balance, threshold: details.threshold };
}

/** Details of the events `topup.succeeded` and `topup.failed`. */
export interface TopupDetails {
  kind: 'manual' | 'automatic';
  amount_cents: number;
  credits: number;
  failure_code: string | null;
}

export function presentTopup(
  { subject, details, created_at: completedAt }: EventFacts<TopupDetails>,
  status: 'succeeded' | 'failed',
): Static<typeof TopupData> {
  return presentAs(TopupData, details, { uuid: subject, status, completed_at: completedAt });
}

export const presentCommission = ({ details }: EventFacts<Static<typeof CommissionData>>) =>
  presentAs(CommissionData, details);

export function presentPayout({
  subject,
  details,
}: EventFacts<{ month: string; amount_cents: number; paid_at: string }>): Static<typeof PayoutData> {
  const { month, amount_cents, paid_at } = details;
  return { uuid: subject, month: month.slice(0, 7), amount_cents, paid_at };
}
