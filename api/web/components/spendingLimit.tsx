import type { VNode } from 'preact';
import type { CreditLimit, SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { SPENDING_LIMIT_MAX_CREDITS } from '../../../shared/spec/limits.ts';
import type { SpendingPeriod } from '../../../shared/spec/states.ts';
import { formatNumber } from './formatAmount.ts';
import { formatDateTime } from './formatTime.ts';

/** Periods that the forms of applications offer. */
const OFFERED_PERIODS = ['day', 'month'] as const satisfies readonly SpendingPeriod[];

/** Values of the fields as they are shown: those of a limit, or what the user entered. */
export interface SpendingLimitValues {
  credits: string;
  period: string;
}

/** Returns the values that show a limit. Without one the credits are empty. */
export function toSpendingLimitValues(limit: CreditLimit | null): SpendingLimitValues {
  return { credits: limit === null ? '' : String(limit.credits), period: limit?.period ?? 'day' };
}

/** Returns the values that a form contains, to show them again. */
export function readSpendingLimitValues(form: URLSearchParams): SpendingLimitValues {
  return { credits: form.get('limit_credits') ?? '', period: form.get('limit_period') ?? 'day' };
}

/**
 * Parses the fields of a spending limit.
 * @param periods periods that the form offers.
 * @returns null if the credits are empty, which means no limit; undefined if the form has no such field.
 * @throws ServiceError validation_error
 */
export function parseSpendingLimit(
  form: URLSearchParams,
  periods: readonly SpendingPeriod[] = OFFERED_PERIODS,
): CreditLimit | null | undefined {
  const text = form.get('limit_credits')?.trim();
  if (text === undefined) return undefined;
  if (text === '') return null;
  const credits = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (credits < 1 || credits > SPENDING_LIMIT_MAX_CREDITS) {
    const detail = `The spending limit must be a whole number of credits from 1 to ${formatNumber(SPENDING_LIMIT_MAX_CREDITS)}, or empty for no limit.`;
    throw new ServiceError('validation_error', detail);
  }
  const period = periods.find((offered) => offered === form.get('limit_period'));
  if (period === undefined) {
    const choices = periods.includes('total') ? 'a day, a month or the total' : 'a day or a month';
    throw new ServiceError('validation_error', `The period of the spending limit must be ${choices}.`);
  }
  return { credits, period };
}

interface SpendingLimitFieldsProps {
  values: SpendingLimitValues;
  /** The limit in force. */
  current: SpendingLimitState | null;
  balance: number;
  periods?: readonly SpendingPeriod[];
  isInvalid?: boolean;
}

/** Fields for the spending limit of an application or an API key, with its use and the balance. */
export function SpendingLimitFields(props: SpendingLimitFieldsProps): VNode {
  const { values, current, balance, periods = OFFERED_PERIODS, isInvalid = false } = props;
  return (
    <fieldset>
      <legend>It may spend at most</legend>
      <div class="inline limit">
        <div class="field">
          <label for="limit-credits">Credits</label>
          <input
            id="limit-credits"
            type="text"
            name="limit_credits"
            inputmode="numeric"
            autocomplete="off"
            value={values.credits}
            aria-describedby="limit-hint"
            aria-invalid={isInvalid ? 'true' : undefined}
          />
        </div>
        <div class="field">
          <label for="limit-period">{periods.includes('total') ? 'Period' : 'Each'}</label>
          <select id="limit-period" name="limit_period">
            {periods.map((period) => (
              <option value={period} selected={values.period === period}>
                {period}
              </option>
            ))}
          </select>
        </div>
      </div>
      <span class="hint" id="limit-hint">
        Days and months are UTC. Leave the credits empty for no limit.{' '}
        {current === null ? '' : `${describeLimitUse(current)} `}Your balance is {formatNumber(balance)} credits.
      </span>
    </fieldset>
  );
}

/** Describes a limit: `200 credits a day`. */
export function describeLimit({ credits, period }: CreditLimit): string {
  const noun = credits === 1 ? 'credit' : 'credits';
  return `${formatNumber(credits)} ${noun} ${period === 'total' ? 'in total' : `a ${period}`}`;
}

/** Describes what is used of a limit: `35 of 200 credits a day are used; it resets on 24 November 2026, 00:00 UTC.` */
export function describeLimitUse(limit: SpendingLimitState): string {
  const reset = limit.resetsAt === null ? '' : `; it resets on ${formatDateTime(limit.resetsAt)} UTC`;
  return `${formatNumber(limit.used)} of ${describeLimit(limit)} ${limit.used === 1 ? 'is' : 'are'} used${reset}.`;
}
