import type { VNode } from 'preact';
import {
  type AutoTopupSettings,
  formatAutoTopupSettings,
} from '../../../../shared/domain/billing/autoTopupSettings.ts';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { FormerState } from '../../../web/components/editForm.tsx';
import { TextField } from '../../../web/components/fields.tsx';
import { Form } from '../../../web/components/form.tsx';
import { t as shared } from '../../../web/texts.ts';
import { AUTO_TOPUP as t, AUTO_TOPUP_PROBLEMS } from './autoTopupTexts.ts';

/** Says why the service switched automatic top-ups off. */
export function describeAutoTopupProblem(problem: string): string {
  const reasons: Readonly<Record<string, () => string>> = AUTO_TOPUP_PROBLEMS;
  return t.switchedOff({ reason: (reasons[problem] ?? AUTO_TOPUP_PROBLEMS.failed)() });
}

interface AutoTopupProps {
  settings: AutoTopupSettings;
  billing: BillingStatus;
}

/** Settings of automatic top-ups, with the reason if the service switched them off. */
export function AutoTopupSection({ settings, billing }: AutoTopupProps): VNode {
  const { isEnabled, amountCents, thresholdCredits, previewCredits, problem } = settings;
  return (
    <section class="card" aria-labelledby="auto-topup">
      <h2 id="auto-topup">
        {t.heading()} <span class={isEnabled ? 'tag' : 'tag off'}>{isEnabled ? t.on() : t.off()}</span>
      </h2>
      {problem === null ? null : (
        <p class="note">
          {describeAutoTopupProblem(problem)} {t.checkMethod()}
        </p>
      )}
      {billing.plan === null ? (
        <p>{t.planFirst()}</p>
      ) : (
        <Form action="/account/billing/auto-topup/">
          <FormerState value={formatAutoTopupSettings(settings)} />
          <p>
            <label class="check">
              <input type="checkbox" name="enabled" value="on" checked={isEnabled} /> {t.enable()}
            </label>
          </p>
          <div class="inline">
            <TextField
              id="auto-threshold"
              name="threshold"
              label={t.threshold()}
              inputmode="numeric"
              required
              value={String(thresholdCredits)}
            />
            <TextField
              id="auto-amount"
              name="amount"
              label={t.amountInDollars()}
              inputmode="decimal"
              required
              value={(amountCents / 100).toFixed(2).replace(/\.00$/, '')}
            />
            <button type="submit">{shared.save()}</button>
          </div>
          {billing.hasPaymentMethod ? null : <p class="hint">{t.needsMethod()}</p>}
          <p class="hint">{t.preview({ credits: previewCredits })}</p>
        </Form>
      )}
    </section>
  );
}
