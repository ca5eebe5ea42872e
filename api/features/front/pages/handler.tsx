import { getModelsWithStatus } from '../../../../shared/domain/generations/execution/modelHealth.ts';
import { getOfferedPlans } from '../../../../shared/lib/catalog/catalog.ts';
import { config } from '../../../../shared/lib/config.ts';
import { topupCredits } from '../../../../shared/spec/topupCredits.ts';
import type { Context } from '../../../context.ts';
import { getBrand } from '../../../web/brand.ts';
import { CopyText } from '../../../web/components/copyText.tsx';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { formatUsd } from '../../../web/components/formatAmount.ts';
import { sendFrontPage } from '../../../web/components/frontPage.tsx';
import { RequestSamples } from '../../../web/components/requestSamples.tsx';
import { Table } from '../../../web/components/table.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { ModelCards, ParamList, PlanCards } from './parts.tsx';
import { t } from './texts.ts';

/** Top-up of the pricing table. */
const TOPUP_CENTS = 5_000;

/** Shows visitors what the service does and costs. People who are signed in get to their account. */
export async function showFrontPage(ctx: Context): Promise<void> {
  if (ctx.state.caller !== undefined) return ctx.redirect('/account/');
  const { slug } = getBrand();
  const children = (
    <>
      <section class="hero">
        <div>
          <h1>{t.claim()}</h1>
          <p class="lead">{t.lead()}</p>
          <p class="buttons">
            <a class="button main" href="/account/keys/">
              {t.getKey()}
            </a>
            <a class="button" href="/account/applications/">
              {shared.connectAssistant()}
            </a>
          </p>
        </div>
        <div>
          <RequestSamples apiKey="YOUR_API_KEY" />
          <CopyText
            id="front-assistant"
            text={`claude mcp add --transport http ${slug} ${config.BASE_URL}/mcp`}
            label={t.claudeCommand()}
          />
        </div>
      </section>
      <h2>{t.modelsAndPrices()}</h2>
      <ModelCards models={await getModelsWithStatus()} />
      <h2>{shared.plans()}</h2>
      <PlanCards plans={getOfferedPlans()} />
    </>
  );
  sendFrontPage(ctx, { title: t.title(), current: '/', children });
}

/** Shows every model with its parameters and prices. */
export async function showModelsPage(ctx: Context): Promise<void> {
  const models = await getModelsWithStatus();
  const children = (
    <>
      <h1>{shared.models()}</h1>
      <p class="lead">{t.modelsLead()}</p>
      <ModelCards models={models} />
      {models.map((model) => (
        <Section id={`model-${model.slug}`} title={model.name}>
          <ParamList model={model} />
        </Section>
      ))}
    </>
  );
  sendFrontPage(ctx, { title: shared.models(), current: '/models/', children });
}

/** Shows the plans, and what credits cost and buy on each. */
export function showPricingPage(ctx: Context): void {
  const plans = getOfferedPlans();
  const numeric = [t.hundredCredits(), t.buys({ price: formatUsd(TOPUP_CENTS) })];
  const children = (
    <>
      <h1>{shared.pricing()}</h1>
      <p class="lead">{t.pricingLead()}</p>
      <PlanCards plans={plans} />
      <Section id="rates" title={t.moreCredits()}>
        <p class="quiet">{t.moreCreditsLead()}</p>
        <Table
          label={t.moreCreditsByPlan()}
          columns={[t.plan(), ...numeric, t.enoughFor()]}
          numeric={numeric}
          rows={plans.map((plan) => {
            const { name, priceMonthlyCents, monthlyCredits } = plan;
            const credits = topupCredits(TOPUP_CENTS, plan);
            return [
              name,
              formatUsd(Math.round((100 * priceMonthlyCents) / monthlyCredits)),
              shared.creditCount({ credits }),
              describePurchase(credits),
            ];
          })}
        />
      </Section>
    </>
  );
  sendFrontPage(ctx, { title: shared.pricing(), current: '/pricing/', children });
}
