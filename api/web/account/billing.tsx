import type { VNode } from 'preact';
import { processor } from '../../../shared/gateways/payments/index.ts';
import { type Plan, PLANS } from '../../../shared/spec/plans.ts';
import { Form } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';
import { formatDate } from '../components/formatTime.ts';

/** Credit balance and plan, with forms to change the plan and to open the billing portal. */
export function BillingSection({
  account,
  billing,
  formContext,
}: AccountOverview & { formContext: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="credits">
      <h2 id="credits">Billing</h2>
      <p>
        <span class="figure">{account.balance.toLocaleString('en-GB')}</span> credits left
      </p>
      <p>{describeSubscription(billing)}</p>
      <Form action="/account/plan/" token={formContext.csrfToken} class="inline">
        <input type="hidden" name="request" value={formContext.idempotencyKey} />
        <div class="field">
          <label for="plan">{billing.plan === null ? 'Plan' : 'Change to'}</label>
          <select id="plan" name="plan" required>
            {billing.plan === null ? null : (
              // An empty first option prevents a change of plan by a single click.
              <option value="" selected>
                Choose a plan…
              </option>
            )}
            {PLANS.filter((plan) => plan.slug !== billing.plan?.slug).map((plan) => (
              <option value={plan.slug} selected={billing.plan === null && plan.highlight}>
                {describePlan(plan)}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" class={billing.plan === null ? 'main' : undefined}>
          {billing.plan === null ? 'Subscribe' : 'Change plan'}
        </button>
      </Form>
      <p class="hint">
        Plans are billed yearly. Credits are granted monthly.{' '}
        {processor.isSimulated ? 'Test mode: no payment processor is configured, so plans are free.' : ''}
      </p>
      {!processor.isSimulated && billing.status !== 'none' ? (
        <Form action="/account/portal/" token={formContext.csrfToken}>
          <button type="submit">Manage payment methods, invoices and cancellation</button>
        </Form>
      ) : null}
    </section>
  );
}

function describeSubscription({
  plan,
  status,
  currentPeriodEnd,
  cancelAtPeriodEnd,
}: AccountOverview['billing']): string {
  if (plan === null)
    return status === 'none'
      ? 'No plan yet. Subscribe to receive credits every month.'
      : `No active plan. The last subscription is ${status.replace('_', ' ')}.`;
  const until =
    currentPeriodEnd === null ? '' : `, ${cancelAtPeriodEnd ? 'ends' : 'renews'} on ${formatDate(currentPeriodEnd)}`;
  const due = status === 'past_due' ? ' The last payment failed. Update your payment method.' : '';
  return `${plan.name} plan: ${plan.monthlyCredits.toLocaleString('en-GB')} credits a month, ${plan.parallelLimit} generations at a time${until}.${due}`;
}

function describePlan(plan: Plan): string {
  const yearly = (plan.priceYearlyCents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
  return `${plan.name}: ${plan.monthlyCredits.toLocaleString('en-GB')} credits, ${yearly.replace('.00', '')} a year`;
}
