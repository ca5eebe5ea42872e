import { getCatalog } from '../../../../shared/lib/catalog/catalog.ts';
import { randomUUID } from 'node:crypto';
import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { getAutoTopupSettings } from '../../../../shared/domain/billing/autoTopupSettings.ts';
import { getBillingStatus } from '../../../../shared/domain/billing/billingStatus.ts';
import { type BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { listRecentInvoices } from '../../../../shared/domain/billing/invoices.ts';
import { listRecentTopups } from '../../../../shared/domain/billing/topups.ts';
import { config } from '../../../../shared/lib/config.ts';
import { processor } from '../../../../shared/gateways/payments/index.ts';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../../../shared/spec/limits.ts';
import type { Plan } from '../../../../shared/spec/plans.ts';
import { topupCredits } from '../../../../shared/spec/topupCredits.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { createCsrfToken } from '../../../pipeline/csrf.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { TextField } from '../../../web/components/fields.tsx';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { Form } from '../../../web/components/form.tsx';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { PlanPrice } from '../../../web/components/planPrice.tsx';
import { AutoTopupSection } from './autoTopup.tsx';
import { describeSubscription } from './describeSubscription.ts';
import { InvoicesSection } from './invoices.tsx';
import { TopupHistory } from './topupHistory.tsx';

export const BILLING_PATH = '/account/billing/';
/** Value of the choice that uses the amount field. */
export const OTHER_AMOUNT = 'other';
/** Amounts to choose from, in dollars. */
const TOPUP_PRESETS = [50, 100, 200, 500, 1_000];

const OUTCOMES = {
  plan: ['Plan active', 'Your plan is active.'],
  topup: ['Credits added', 'The credits are on your balance.'],
  gift: ['Gift code redeemed', 'The credits of the gift code are on your balance.'],
  'auto-topup-on': ['Automatic top-ups on', 'Automatic top-ups are on.'],
  'auto-topup-off': ['Automatic top-ups off', 'Automatic top-ups are off.'],
} as const satisfies Outcomes;

export type BillingOutcome = keyof typeof OUTCOMES;

/** Renders plans, top-ups and payments with their current data. */
export async function renderBillingPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [account, billing, settings, topups, invoices] = await Promise.all([
    getAccount(accountId),
    getBillingStatus(accountId),
    getAutoTopupSettings(accountId),
    listRecentTopups(accountId),
    listRecentInvoices(accountId),
  ]);
  const csrfToken = createCsrfToken(ctx);
  const children = (
    <>
      {billing.plan === null ? <PlansSection current={null} csrfToken={csrfToken} /> : null}
      <div class="columns">
        <TopupSection account={account} plan={billing.plan} csrfToken={csrfToken} />
        <div>
          <SubscriptionSection billing={billing} csrfToken={csrfToken} />
          <GiftCodeSection csrfToken={csrfToken} />
        </div>
      </div>
      <AutoTopupSection settings={settings} billing={billing} csrfToken={csrfToken} />
      {billing.plan === null ? null : <PlansSection current={billing.plan} csrfToken={csrfToken} />}
      <TopupHistory topups={topups} />
      <InvoicesSection invoices={invoices} />
    </>
  );
  await sendAccountAreaPage(
    ctx,
    { current: BILLING_PATH, heading: 'Billing', outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function SubscriptionSection({ billing, csrfToken }: { billing: BillingStatus; csrfToken: string }): VNode {
  const method = billing.hasPaymentMethod ? 'A payment method is on file.' : 'No payment method is on file.';
  return (
    <section class="card" aria-labelledby="subscription">
      <h2 id="subscription">Subscription</h2>
      <p>{describeSubscription(billing)}</p>
      {processor.isSimulated || billing.status === 'none' ? null : (
        <>
          <p class="quiet">{method}</p>
          <Form action="/account/portal/" token={csrfToken}>
            <button type="submit">Manage payment methods, invoices and cancellation</button>
          </Form>
        </>
      )}
    </section>
  );
}

function GiftCodeSection({ csrfToken }: { csrfToken: string }): VNode {
  return (
    <section class="card" aria-labelledby="gift-code">
      <h2 id="gift-code">Gift code</h2>
      <Form action="/account/gift-codes/redeem/" token={csrfToken} class="inline">
        <div class="field">
          <label for="code">Code</label>
          <input id="code" type="text" name="code" required autocomplete="off" placeholder="GIFT-…" />
        </div>
        <button type="submit">Redeem</button>
      </Form>
    </section>
  );
}

const CHANGE_OF_PLAN =
  "A larger plan starts as soon as it is paid, with the difference of this month's credits. A smaller one starts at the next yearly renewal.";

function PlansSection({ current, csrfToken }: { current: Plan | null; csrfToken: string }): VNode {
  const plans = getCatalog().plans.filter(({ hidden, slug }) => !hidden || slug === current?.slug);
  return (
    <section aria-labelledby="plans">
      <h2 id="plans">{current === null ? 'Choose a plan' : 'Plans'}</h2>
      <p class="quiet">
        Plans are billed yearly. Credits are granted monthly. {describeTax()}{' '}
        {processor.isSimulated ? 'No payment processor is configured (development), so plans are free.' : null}
        {current === null || processor.isSimulated ? null : CHANGE_OF_PLAN}
      </p>
      <ul class="plans">
        {plans.map((plan) => (
          <PlanCard plan={plan} current={current} csrfToken={csrfToken} />
        ))}
      </ul>
    </section>
  );
}

function PlanCard({ plan, current, csrfToken }: { plan: Plan; current: Plan | null; csrfToken: string }): VNode {
  const isCurrent = plan.slug === current?.slug;
  return (
    <li class="card">
      <h3>
        {plan.name} {isCurrent ? <span class="tag">Your plan</span> : null}
        {plan.highlight && (current === null || current.priceMonthlyCents < plan.priceMonthlyCents) ? (
          <span class="tag">Recommended</span>
        ) : null}
      </h3>
      <PlanPrice plan={plan} />
      <p>{describePurchase(plan.monthlyCredits)}</p>
      <ul class="plain">
        {plan.features.map((feature) => (
          <li>{feature.replaceAll(/\d{4,}/g, (digits) => formatNumber(Number(digits)))}</li>
        ))}
      </ul>
      {isCurrent ? null : (
        <Form action="/account/plan/" token={csrfToken}>
          <input type="hidden" name="request" value={randomUUID()} />
          <input type="hidden" name="plan" value={plan.slug} />
          <button type="submit" class={current === null && plan.highlight ? 'main wide' : 'wide'}>
            {current === null ? `Subscribe to ${plan.name}` : `Change to ${plan.name}`}
          </button>
        </Form>
      )}
    </li>
  );
}

function TopupSection(props: { account: Account; plan: Plan | null; csrfToken: string }): VNode {
  const { account, plan, csrfToken } = props;
  return (
    <section class="card" aria-labelledby="topup">
      <h2 id="topup">Buy credits</h2>
      <p class="quiet">
        You have {formatNumber(account.balance)} credits. Credits that you buy do not expire, and are used after those
        of your plan.
      </p>
      {plan === null ? (
        <p>Credits are sold with a plan: choose one first.</p>
      ) : (
        <Form action="/account/billing/topup/" token={csrfToken}>
          <input type="hidden" name="request" value={randomUUID()} />
          <fieldset>
            <legend>Amount</legend>
            <div class="choices">
              {TOPUP_PRESETS.map((dollars, index) => (
                <label>
                  <input type="radio" name="preset" value={String(dollars)} checked={index === 0} />
                  <span>
                    {formatUsd(100 * dollars)}
                    <span class="hint">{formatNumber(topupCredits(100 * dollars, plan))} credits</span>
                    <span class="hint">{describePurchase(topupCredits(100 * dollars, plan))}</span>
                  </span>
                </label>
              ))}
              <label>
                <input type="radio" name="preset" value={OTHER_AMOUNT} />
                <span>Other amount</span>
              </label>
            </div>
          </fieldset>
          <div class="inline">
            <TextField
              id="topup-amount"
              name="amount"
              label="Other amount in US dollars"
              inputmode="decimal"
              autocomplete="off"
            />
            <button type="submit" class="main">
              Buy credits
            </button>
          </div>
          <p class="hint">
            {formatUsd(TOPUP_MIN_CENTS)} to {formatUsd(TOPUP_MAX_CENTS)}. One dollar buys {describeRate(plan)} credits
            at the rate of your plan. {describeTax()}
          </p>
        </Form>
      )}
    </section>
  );
}

/** Says that tax is added, where it is. Ends with a space for the next sentence. */
function describeTax(): string {
  return config.STRIPE_TAX === 'on' ? 'Tax is added at the checkout. ' : '';
}

/** Credits for a dollar, with one decimal. */
function describeRate({ monthlyCredits, priceMonthlyCents }: Plan): string {
  return ((100 * monthlyCredits) / priceMonthlyCents).toFixed(1);
}
