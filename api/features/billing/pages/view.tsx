import { getCatalog } from '../../../../shared/lib/catalog/catalog.ts';
import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { getAutoTopupSettings } from '../../../../shared/domain/billing/autoTopupSettings.ts';
import { getBillingStatus } from '../../../../shared/domain/billing/billingStatus.ts';
import { type BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { listPayments } from '../../../../shared/domain/billing/listPayments.ts';
import { config } from '../../../../shared/lib/config.ts';
import { processor } from '../../../../shared/gateways/payments/index.ts';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../../../shared/spec/limits.ts';
import type { Plan } from '../../../../shared/spec/plans.ts';
import { topupCredits } from '../../../../shared/spec/topupCredits.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parsePage } from '../../../pipeline/lists.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { TextField } from '../../../web/components/fields.tsx';
import { getRejectedForm } from '../../../web/rejectedForm.ts';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { Form, RequestKey } from '../../../web/components/form.tsx';
import { formatRate, formatUsd } from '../../../web/components/formatAmount.ts';
import { PlanPrice } from '../../../web/components/planPrice.tsx';
import { Section } from '../../../web/components/section.tsx';
import { t as shared } from '../../../web/texts.ts';
import { t as pages } from '../../texts.ts';
import { AutoTopupSection } from './autoTopup.tsx';
import { describeSubscription } from './describeSubscription.ts';
import { PaymentsSection } from './payments.tsx';
import { PlanFeatures } from './planFeatures.tsx';
import { OUTCOME_TEXTS, PLANS, t, TOPUP } from './texts.ts';

export const BILLING_PATH = '/account/billing/';
/** Value of the choice that uses the amount field. */
export const OTHER_AMOUNT = 'other';
/** Amounts to choose from, in dollars. */
const TOPUP_PRESETS = [50, 100, 200, 500, 1_000];

const OUTCOMES = {
  plan: OUTCOME_TEXTS.planActive,
  topup: OUTCOME_TEXTS.creditsAdded,
  gift: OUTCOME_TEXTS.giftRedeemed,
  'auto-topup-on': OUTCOME_TEXTS.autoTopupOn,
  'auto-topup-off': OUTCOME_TEXTS.autoTopupOff,
} as const satisfies Outcomes;

export type BillingOutcome = keyof typeof OUTCOMES;

/** Renders plans, top-ups and payments with their current data. */
export async function renderBillingPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const page = flash.problem === undefined ? parsePage(ctx) : 1;
  const [account, billing, settings, payments] = await Promise.all([
    getAccount(accountId),
    getBillingStatus(accountId),
    getAutoTopupSettings(accountId),
    listPayments(accountId, page),
  ]);
  const children = (
    <>
      {billing.plan === null ? <PlansSection current={null} /> : null}
      <div class="columns">
        <TopupSection account={account} plan={billing.plan} />
        <div>
          <SubscriptionSection billing={billing} />
          <AutoTopupSection settings={settings} billing={billing} />
          <GiftCodeSection />
        </div>
      </div>
      {billing.plan === null ? null : <PlansSection current={billing.plan} />}
      <PaymentsSection payments={payments} path={BILLING_PATH} />
    </>
  );
  await sendAccountAreaPage(
    ctx,
    { current: BILLING_PATH, heading: pages.billing(), outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function SubscriptionSection({ billing }: { billing: BillingStatus }): VNode {
  return (
    <Section id="subscription" title={t.subscription()}>
      <p>{describeSubscription(billing)}</p>
      {processor.isSimulated || billing.status === 'none' ? null : (
        <>
          <p class="quiet">{billing.hasPaymentMethod ? t.methodOnFile() : t.noMethodOnFile()}</p>
          <Form action="/account/portal/">
            <button type="submit">{t.openPortal()}</button>
          </Form>
        </>
      )}
    </Section>
  );
}

function GiftCodeSection(): VNode {
  return (
    <Section id="gift-code" title={t.giftCode()}>
      <Form action="/account/gift-codes/redeem/" class="inline">
        <TextField id="code" name="code" label={t.code()} required autocomplete="off" placeholder="GIFT-…" />
        <button type="submit">{t.redeem()}</button>
      </Form>
    </Section>
  );
}

function PlansSection({ current }: { current: Plan | null }): VNode {
  const plans = getCatalog().plans.filter(({ hidden, slug }) => !hidden || slug === current?.slug);
  return (
    <section aria-labelledby="plans">
      <h2 id="plans">{current === null ? shared.choosePlan() : shared.plans()}</h2>
      <p class="quiet">
        {PLANS.lead()} {describeTax()} {processor.isSimulated ? PLANS.free() : current === null ? null : PLANS.change()}
      </p>
      <ul class="plans">
        {plans.map((plan) => (
          <PlanCard plan={plan} current={current} />
        ))}
      </ul>
    </section>
  );
}

function PlanCard({ plan, current }: { plan: Plan; current: Plan | null }): VNode {
  const isCurrent = plan.slug === current?.slug;
  return (
    <li class="card">
      <h3>
        {plan.name} {isCurrent ? <span class="tag">{PLANS.yourPlan()}</span> : null}
        {plan.highlight && (current === null || current.priceMonthlyCents < plan.priceMonthlyCents) ? (
          <span class="tag">{shared.recommended()}</span>
        ) : null}
      </h3>
      <PlanPrice plan={plan} />
      <PlanFeatures plan={plan} />
      {isCurrent ? null : (
        <Form action="/account/plan/">
          <RequestKey />
          <input type="hidden" name="plan" value={plan.slug} />
          <button type="submit" class={current === null && plan.highlight ? 'main wide' : 'wide'}>
            {current === null ? PLANS.subscribe({ plan: plan.name }) : PLANS.changeTo({ plan: plan.name })}
          </button>
        </Form>
      )}
    </li>
  );
}

const TOPUP_PATH = '/account/billing/topup/';

function TopupSection({ account, plan }: { account: Account; plan: Plan | null }): VNode {
  const chosen = getRejectedForm(TOPUP_PATH)?.form.get('preset');
  return (
    <Section id="topup" title={TOPUP.buyCredits()}>
      <p class="quiet">{TOPUP.lead({ credits: account.balance })}</p>
      {plan === null ? (
        <p>{TOPUP.planFirst()}</p>
      ) : (
        <Form action={TOPUP_PATH}>
          <RequestKey />
          <fieldset>
            <legend>{shared.amount()}</legend>
            <div class="choices">
              {TOPUP_PRESETS.map((dollars, index) => (
                <label>
                  <input
                    type="radio"
                    name="preset"
                    value={String(dollars)}
                    checked={chosen === String(dollars) || (chosen === undefined && index === 0)}
                  />
                  <span>
                    {formatUsd(100 * dollars)}
                    <span class="hint">{shared.creditCount({ credits: topupCredits(100 * dollars, plan) })}</span>
                    <span class="hint">{describePurchase(topupCredits(100 * dollars, plan))}</span>
                  </span>
                </label>
              ))}
              <label>
                <input type="radio" name="preset" value={OTHER_AMOUNT} checked={chosen === OTHER_AMOUNT} />
                <span>{TOPUP.otherAmount()}</span>
              </label>
            </div>
          </fieldset>
          <div class="inline">
            <TextField
              id="topup-amount"
              name="amount"
              label={TOPUP.otherAmountInDollars()}
              inputmode="decimal"
              autocomplete="off"
            />
            <button type="submit" class="main">
              {TOPUP.buyCredits()}
            </button>
          </div>
          <p class="hint">
            {TOPUP.rate({
              least: formatUsd(TOPUP_MIN_CENTS),
              most: formatUsd(TOPUP_MAX_CENTS),
              credits: formatRate((100 * plan.monthlyCredits) / plan.priceMonthlyCents),
            })}{' '}
            {describeTax()}
          </p>
        </Form>
      )}
    </Section>
  );
}

/** Says that tax is added, where it is. */
function describeTax(): string {
  return config.STRIPE_TAX === 'on' ? PLANS.tax() : '';
}
