import type { VNode } from 'preact';
import {
  type AutoTopupSettings,
  formatAutoTopupSettings,
} from '../../../../shared/domain/billing/autoTopupSettings.ts';
import { describeTopupReason } from '../../../../shared/domain/emails/texts/topupReasons.ts';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { getLanguage } from '../../../language.ts';
import { FormerState } from '../../../web/components/editForm.tsx';
import { TextField } from '../../../web/components/fields.tsx';
import { CheckBox, Form } from '../../../web/components/form.tsx';
import { t as shared } from '../../../web/texts.ts';
import { AUTO_TOPUP as t } from './autoTopupTexts.ts';

/** Says why the service switched automatic top-ups off. */
export function describeAutoTopupProblem(problem: string): string {
  return t.switchedOff({ reason: describeTopupReason(problem, getLanguage()) });
}

interface AutoTopupProps {
  settings: AutoTopupSettings;
  billing: BillingStatus;
}

/** Settings of automatic top-ups, with the reason if the service switched them off. */
export function AutoTopupSection({ settings, billing }: AutoTopupProps): VNode {
  const { auto_topup_enabled: isEnabled, auto_topup_problem: problem } = settings;
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
          <CheckBox name="enabled" checked={isEnabled} label={t.enable()} />
          <div class="inline">
            <TextField
              id="auto-threshold"
              name="threshold"
              label={t.threshold()}
              inputmode="numeric"
              required
              value={String(settings.auto_topup_threshold_credits)}
            />
            <TextField
              id="auto-amount"
              name="amount"
              label={t.amountInDollars()}
              inputmode="decimal"
              required
              value={(settings.auto_topup_amount_cents / 100).toFixed(2).replace(/\.00$/, '')}
            />
            <button type="submit">{shared.save()}</button>
          </div>
          {billing.hasPaymentMethod ? null : <p class="hint">{t.needsMethod()}</p>}
          <p class="hint">{t.preview({ credits: settings.preview_credits })}</p>
        </Form>
      )}
    </section>
  );
}
