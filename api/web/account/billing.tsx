import type { VNode } from 'preact';
import { processor } from '../../../shared/gateways/payments/index.ts';
import { type Plan, PLANS } from '../../../shared/spec/plans.ts';
import { Form } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';
import { formatDate } from '../components/formatTime.ts';

/** What there is to spend, under which plan, and how to change that. */
export function BillingSection({
  account,
  billing,
  secrets,
}: AccountOverview & { secrets: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="credits">
      <h2 id="credits">Credits and plan</h2>
      <p>
        <span class="figure">{account.balance.toLocaleString('en-GB')}</span> credits
      </p>
      <p>{describeSubscription(billing)}</p>
      <Form action="/account/plan/" token={secrets.csrfToken} class="inline">
        <input type="hidden" name="request" value={secrets.idempotencyKey} />
        <div class="field">
          <label for="plan">{billing.plan === null ? 'Choose a plan' : 'Change to'}</label>
          <select id="plan" name="plan" required>
            {billing.plan === null ? null : (
              // Nobody is to change to another plan by one click on a button.
              <option value="" selected>
                Choose…
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
        You get your credits every month. Plans are billed once a year.{' '}
        {processor.isSimulated ? 'Test mode: payments are not set up, so plans are free.' : ''}
      </p>
      {!processor.isSimulated && billing.status !== 'none' ? (
        <Form action="/account/portal/" token={secrets.csrfToken}>
          <button type="submit">Payment methods, invoices, cancellation</button>
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
    return status === 'none' ? 'No plan yet.' : `No active plan; the last one is ${status.replace('_', ' ')}.`;
  const until =
    currentPeriodEnd === null ? '' : `, ${cancelAtPeriodEnd ? 'ends' : 'renews'} on ${formatDate(currentPeriodEnd)}`;
  const due = status === 'past_due' ? ' The last payment has failed: please see to it.' : '';
  return `${plan.name} plan: ${plan.monthlyCredits.toLocaleString('en-GB')} credits a month, ${plan.parallelLimit} generations at a time${until}.${due}`;
}

function describePlan(plan: Plan): string {
  const yearly = (plan.priceYearlyCents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
  return `${plan.name}: ${plan.monthlyCredits.toLocaleString('en-GB')} credits, ${yearly.replace('.00', '')} a year`;
}
