import Type from 'typebox';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { config } from '../../../shared/lib/config.ts';
import { getUsageSummary } from '../../../shared/domain/credits/usage.ts';
import { getUsageResponse } from '../../rest/usage/schemas.ts';
import { presentUsage } from '../../rest/usage/presenter.ts';
import { NextStep } from './callToolResult.ts';
import { defineTool } from './defineTool.ts';
import { describePrice, describePriceBriefly, listOfferedModels } from './modelTexts.ts';
import { formatUtcDay } from '../../../shared/lib/calendar.ts';

export const getUsage = () =>
  defineTool({
    name: 'get_usage',
    title: 'Get credits and usage',
    description:
      'Returns the credit balance, the plan, the number of generations in progress and its limit, and the usage of this ' +
      'period, of the last 30 days by day, and by model. Costs no credits. Use it before many generations, or after ' +
      `insufficient_credits, subscription_required or parallel_limit_reached. ${describePrices()}`,
    icon: 'usage',
    input: Type.Object({}, { additionalProperties: false }),
    output: Type.Object({ ...getUsageResponse().properties, next: Type.Optional(NextStep) }),
    spendsCredits: false,
    run: async (_input, { principal }) => {
      const usage = presentUsage(await getUsageSummary(principal.accountId));
      // Days without usage are left out, because every token costs the client.
      const history = usage.history.filter((day) => day.generations > 0 || day.credits_used !== 0);
      const next = getNextStep(usage);
      return {
        text: describeUsage(usage, next),
        structured: { ...usage, history, ...(next === null ? {} : { next }) },
      };
    },
  });

type Usage = ReturnType<typeof presentUsage>;

/** Says what the user has to do before the next generation; null if nothing. */
function getNextStep({ plan, credits }: Usage): string | null {
  const page = `${config.BASE_URL}/account/billing/`;
  if (plan === null) return `No active subscription: the user can choose a plan at ${page} before generating.`;
  const cheapest = Math.min(...getCatalog().models.flatMap(({ hidden, creditsBase }) => (hidden ? [] : [creditsBase])));
  return credits.balance < cheapest ? `The balance covers no generation: the user can add credits at ${page}.` : null;
}

function describeUsage({ plan, credits, jobs, by_model }: Usage, next: string | null): string {
  const until = credits.period_end === null ? '' : ` The period ends on ${formatUtcDay(credits.period_end)}.`;
  return [
    `Balance: ${credits.balance} credits.`,
    ...(next === null ? [] : [next]),
    ...(plan === null
      ? []
      : [
          `Plan ${plan.name}, ${plan.monthly_credits} credits a month. This period ${credits.granted_this_period} were granted, ${credits.rollover} carried over, and ${credits.used_this_period} used.${until}`,
        ]),
    `In progress: ${jobs.in_flight} of at most ${jobs.parallel_limit}.`,
    ...by_model.map(
      ({ model, credits, count }) =>
        `${model}: ${count} generation${count === 1 ? '' : 's'}, ${credits} credits in total.`,
    ),
  ].join(' ');
}

/** Describes the prices of the catalog: `An image costs 8 credits, a video 35 (5 seconds) or 70 (10 seconds).` */
function describePrices(): string {
  const [images, videos] = [listOfferedModels('image'), listOfferedModels('video')];
  if (images.length === 0) return `A video costs ${describePrice(videos)}.`;
  const image = `An image costs ${describePrice(images)}`;
  return videos.length === 0 ? `${image}.` : `${image}, a video ${describePriceBriefly(videos)}.`;
}
