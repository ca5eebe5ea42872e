import Type, { type Static } from 'typebox';
import { SPENDING_LIMIT_MAX_CREDITS } from '../spec/limits.ts';
import { SPENDING_PERIODS } from '../spec/states.ts';
import { NO_OTHER_FIELDS, timestampOrNull } from './fields.ts';

/** A spending limit, in requests and responses. */
export const CreditLimit = Type.Object(
  {
    credits: Type.Integer({ minimum: 1, maximum: SPENDING_LIMIT_MAX_CREDITS, description: 'Most credits to spend' }),
    period: Type.Enum([...SPENDING_PERIODS], { description: 'A UTC day, a UTC month, or all time' }),
  },
  NO_OTHER_FIELDS,
);
export type CreditLimit = Static<typeof CreditLimit>;

/** Fields of a resource that has a limit. */
export const CreditLimitUse = Type.Object({
  credit_limit: CreditLimit,
  credits_used: Type.Integer({ description: 'Credits used of the limit, less refunds' }),
  resets_at: timestampOrNull('Start of the next day or month in UTC; null for the period total'),
});
export type CreditLimitUse = Static<typeof CreditLimitUse>;

/** A limit that is in force, and what is used of it. */
export interface SpendingLimitState extends CreditLimit {
  used: number;
  /** Start of the next window; null for the period `total`. */
  resetsAt: Date | null;
}

export function presentCreditLimit({ credits, period, used, resetsAt }: SpendingLimitState): CreditLimitUse {
  return { credit_limit: { credits, period }, credits_used: used, resets_at: resetsAt };
}

/** Formats a limit as in APPLICATION_SPENDING_LIMIT, such as `200/day`. */
export function formatLimit(limit: CreditLimit | null): string {
  return limit === null ? 'none' : `${limit.credits}/${limit.period}`;
}
