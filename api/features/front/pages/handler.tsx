import { getModelsWithStatus } from '../../../../shared/domain/generations/execution/modelHealth.ts';
import { getOfferedPlans } from '../../../../shared/lib/catalog/catalog.ts';
import { config } from '../../../../shared/lib/config.ts';
import { topupCredits } from '../../../../shared/spec/topupCredits.ts';
import type { Context } from '../../../context.ts';
import { getBrand } from '../../../web/brand.ts';
import { CopyText } from '../../../web/components/copyText.tsx';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { sendFrontPage } from '../../../web/components/frontPage.tsx';
import { RequestSamples } from '../../../web/components/requestSamples.tsx';
import { Table } from '../../../web/components/table.tsx';
import { ModelCards, ParamList, PlanCards } from './parts.tsx';

/** Shows visitors what the service does and costs. People who are signed in get to their account. */
export async function showFrontPage(ctx: Context): Promise<void> {
  if (ctx.state.caller !== undefined) return ctx.redirect('/account/');
  const { slug } = getBrand();
  const children = (
    <>
      <section class="hero">
        <div>
          <h1>Video and images from one credit balance</h1>
          <p class="lead">
            One API, one MCP server, one bill. A failed generation costs nothing, and a repeated request is charged
            once.
          </p>
          <p class="buttons">
            <a class="button main" href="/account/keys/">
              Get an API key
            </a>
            <a class="button" href="/account/connect/">
              Connect an assistant
            </a>
          </p>
        </div>
        <div>
          <RequestSamples apiKey="YOUR_API_KEY" />
          <CopyText
            id="front-assistant"
            text={`claude mcp add --transport http ${slug} ${config.BASE_URL}/mcp`}
            label="the command for Claude Code"
          />
        </div>
      </section>
      <h2>Models and prices</h2>
      <ModelCards models={await getModelsWithStatus()} />
      <h2>Plans</h2>
      <PlanCards plans={getOfferedPlans()} />
    </>
  );
  sendFrontPage(ctx, { title: 'Video and image generation', current: '/', children });
}

/** Shows every model with its parameters and prices. */
export async function showModelsPage(ctx: Context): Promise<void> {
  const models = await getModelsWithStatus();
  const children = (
    <>
      <h1>Models</h1>
      <p class="lead">Prices are in credits, and the same over the API and in assistants. Failures are refunded.</p>
      <ModelCards models={models} />
      {models.map((model) => (
        <section class="card" aria-labelledby={`model-${model.slug}`}>
          <h2 id={`model-${model.slug}`}>{model.name}</h2>
          <ParamList model={model} />
        </section>
      ))}
    </>
  );
  sendFrontPage(ctx, { title: 'Models', current: '/models/', children });
}

/** Shows the plans, and what credits cost and buy on each. */
export function showPricingPage(ctx: Context): void {
  const plans = getOfferedPlans();
  const children = (
    <>
      <h1>Pricing</h1>
      <p class="lead">
        Plans are billed yearly and grant credits every month. Unused credits of a month carry over once.
      </p>
      <PlanCards plans={plans} />
      <section class="card" aria-labelledby="rates">
        <h2 id="rates">More credits</h2>
        <p class="quiet">Buy more at the rate of your plan at any time. Credits that you buy do not expire.</p>
        <Table
          label="More credits by plan"
          columns={['Plan', '100 credits', '$50 buys', 'Enough for']}
          numeric={['100 credits', '$50 buys']}
          rows={plans.map((plan) => {
            const { name, priceMonthlyCents, monthlyCredits } = plan;
            const credits = topupCredits(5_000, plan);
            return [
              name,
              formatUsd(Math.round((100 * priceMonthlyCents) / monthlyCredits)),
              `${formatNumber(credits)} credits`,
              describePurchase(credits),
            ];
          })}
        />
      </section>
    </>
  );
  sendFrontPage(ctx, { title: 'Pricing', current: '/pricing/', children });
}
