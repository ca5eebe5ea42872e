import type { VNode } from 'preact';
import type { AutoTopupSettings } from '../../../../shared/domain/billing/autoTopupSettings.ts';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { TextField } from '../../../web/components/fields.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';

/** Reasons why the service switched automatic top-ups off, by code. */
const PROBLEMS: Record<string, string> = {
  authentication_required: 'Your bank asked for your confirmation, which an automatic payment cannot give.',
  address_required: 'Your billing address is missing, which is needed for tax. Buy credits once to enter it.',
  declined: 'Your card was declined three times.',
  disputed: 'An automatic payment was disputed with your bank.',
  no_payment_method: 'There is no payment method on file.',
};

/** Says why the service switched automatic top-ups off. */
export function describeAutoTopupProblem(problem: string): string {
  return PROBLEMS[problem] ?? 'The payment failed.';
}

interface AutoTopupProps {
  settings: AutoTopupSettings;
  billing: BillingStatus;
  csrfToken: string;
}

/** Settings of automatic top-ups, with the reason if the service switched them off. */
export function AutoTopupSection({ settings, billing, csrfToken }: AutoTopupProps): VNode {
  const { isEnabled, amountCents, thresholdCredits, previewCredits, problem } = settings;
  return (
    <section class="card" aria-labelledby="auto-topup">
      <h2 id="auto-topup">
        Automatic top-ups <span class={isEnabled ? 'tag' : 'tag off'}>{isEnabled ? 'On' : 'Off'}</span>
      </h2>
      {problem === null ? null : (
        <p class="note">
          Automatic top-ups were switched off. {describeAutoTopupProblem(problem)} Check your payment method, then
          switch them on again.
        </p>
      )}
      {billing.plan === null ? (
        <p>Automatic top-ups need a plan: choose one first.</p>
      ) : (
        <Form action="/account/billing/auto-topup/" token={csrfToken}>
          <p>
            <label class="check">
              <input type="checkbox" name="enabled" value="on" checked={isEnabled} /> Buy credits automatically when the
              balance is low, at most once an hour
            </label>
          </p>
          <div class="inline">
            <TextField
              id="auto-threshold"
              name="threshold"
              label="When the balance is below (credits)"
              inputmode="numeric"
              required
              value={String(thresholdCredits)}
            />
            <TextField
              id="auto-amount"
              name="amount"
              label="Amount in US dollars"
              inputmode="decimal"
              required
              value={(amountCents / 100).toFixed(2).replace(/\.00$/, '')}
            />
            <button type="submit">Save</button>
          </div>
          {billing.hasPaymentMethod ? null : (
            <p class="hint">
              Automatic top-ups need a payment method. It is saved when you pay for a plan, or add one under
              Subscription.
            </p>
          )}
          <p class="hint">The amount buys {formatNumber(previewCredits)} credits at the rate of your plan.</p>
        </Form>
      )}
    </section>
  );
}
