import type { CreditLimit, SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { SPENDING_LIMIT_MAX_CREDITS } from '../../../shared/spec/limits.ts';
import type { SpendingPeriod } from '../../../shared/spec/states.ts';
import { LIMITS, SPENDING as t } from '../spendingTexts.ts';
import { t as shared } from '../texts.ts';
import { defineForm, type Field } from './defineForm.tsx';
import { SelectField, TextField } from './fields.tsx';
import { formatNumber } from './formatAmount.ts';
import { formatDateTime } from './formatTime.ts';

const CREDITS_FIELD = 'limit_credits';

/**
 * Field for a spending limit, with controls for the credits and the period. Empty credits are no limit.
 * @param options.periods periods that the form offers.
 * @param options.isApart sets the field apart from the one before it.
 */
export function spendingLimitField({
  periods,
  isApart = false,
}: {
  periods: readonly SpendingPeriod[];
  isApart?: boolean;
}): Field<CreditLimit | null> {
  return {
    render: ({ values, hint }) => (
      <fieldset class={isApart ? 'apart' : undefined}>
        <legend>{t.maySpend()}</legend>
        <div class="inline limit">
          <TextField
            id="limit-credits"
            name={CREDITS_FIELD}
            label={shared.credits()}
            inputmode="numeric"
            autocomplete="off"
            value={values.get(CREDITS_FIELD) ?? ''}
            describedBy="limit-hint"
          />
          <SelectField
            id="limit-period"
            name="limit_period"
            label={periods.includes('total') ? t.period() : t.each()}
            value={values.get('limit_period') ?? 'day'}
            options={periods.map((period) => [period, t[period]()])}
          />
        </div>
        <span class="hint" id="limit-hint">
          {hint}
        </span>
      </fieldset>
    ),
    read: (form) => parseSpendingLimit(form, periods),
    write: (limit) => [
      [CREDITS_FIELD, limit === null ? '' : String(limit.credits)],
      ['limit_period', limit?.period ?? 'day'],
    ],
  };
}

/** Form for the spending limit of an application. */
export const limitForm = defineForm({ prefix: 'limit' }, { limit: spendingLimitField({ periods: ['day', 'month'] }) });

/** @throws ServiceError validation_error */
function parseSpendingLimit(form: URLSearchParams, periods: readonly SpendingPeriod[]): CreditLimit | null | undefined {
  const text = form.get(CREDITS_FIELD)?.trim();
  if (text === undefined) return undefined;
  if (text === '') return null;
  const credits = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (credits < 1 || credits > SPENDING_LIMIT_MAX_CREDITS) {
    const detail = `The spending limit must be a whole number of credits from 1 to ${formatNumber(SPENDING_LIMIT_MAX_CREDITS)}, or empty for no limit.`;
    throw new ServiceError('validation_error', detail, { field: CREDITS_FIELD });
  }
  const period = periods.find((offered) => offered === form.get('limit_period'));
  if (period === undefined) {
    const choices = periods.includes('total') ? 'a day, a month or the total' : 'a day or a month';
    const detail = `The period of the spending limit must be ${choices}.`;
    throw new ServiceError('validation_error', detail, { field: 'limit_period' });
  }
  return { credits, period };
}

/** Hint for the limit of an application or an API key: the use of the one in force, and the balance. */
export function describeLimitHint(current: SpendingLimitState | null, balance: number): string {
  const sentences = [t.hint(), current === null ? '' : describeLimitUse(current), t.yourBalance({ credits: balance })];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

/** Describes a limit: `200 credits a day`. */
export function describeLimit({ credits, period }: CreditLimit): string {
  return LIMITS[period]({ credits });
}

/** Describes what is used of a limit: `35 of 200 credits a day are used; it resets on 24 Nov 2026, 00:00 UTC.` */
export function describeLimitUse(limit: SpendingLimitState): string {
  const values = { used: limit.used, limit: describeLimit(limit) };
  if (limit.resetsAt === null) return t.used(values);
  return t.usedUntil({ ...values, time: formatDateTime(limit.resetsAt) });
}
