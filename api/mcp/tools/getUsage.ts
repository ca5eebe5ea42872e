import Type, { type Static } from 'typebox';
import { getCatalog } from '../../../shared/lib/catalog/catalog.ts';
import { config } from '../../../shared/lib/config.ts';
import { getUsageSummary } from '../../../shared/domain/usage/usageSummary.ts';
import { getUsageResponse } from '../../features/usage/schemas.ts';
import { presentUsage } from '../../features/usage/presenter.ts';
import { objectOrNull } from '../../../shared/presenters/fields.ts';
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
    output: buildUsageOutput(),
    spendsCredits: false,
    needs: 'viewUsage',
    run: async (_input, { caller }) => {
      const usage = presentUsage(await getUsageSummary(caller.accountId));
      // A test key needs neither a plan nor credits.
      const next = caller.isTest === true ? null : getNextStep(usage);
      return {
        text: describeUsage(usage, next),
        structured: { ...summarize(usage), ...(next === null ? {} : { next }) },
      };
    },
  });

type Usage = ReturnType<typeof presentUsage>;

const PlanSummary = Type.Object({ slug: Type.String(), name: Type.String(), monthly_credits: Type.Integer() });

/** Fewer fields than the usage summary of REST, and the credits of a day as one number, to save the model's context. */
export const buildUsageOutput = () => {
  const { credits, jobs, by_model } = getUsageResponse().properties;
  return Type.Object({
    plan: objectOrNull(PlanSummary, 'null without an active subscription'),
    credits: Type.Omit(credits, ['period_start']),
    jobs,
    credits_by_day: Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'Credits by date (UTC), for the last 30 days; days without usage are left out',
    }),
    by_model,
    next: Type.Optional(NextStep),
  });
};

function summarize({ plan, credits, jobs, history, by_model }: Usage): Static<ReturnType<typeof buildUsageOutput>> {
  const { period_start: _, ...period } = credits;
  const days = history.flatMap(({ date, credits_used: used }): [string, number][] =>
    used === 0 ? [] : [[date, used]],
  );
  return {
    plan: plan && { slug: plan.slug, name: plan.name, monthly_credits: plan.monthly_credits },
    credits: period,
    jobs,
    credits_by_day: Object.fromEntries(days),
    by_model,
  };
}

/** Says what the user has to do before the next generation; null if nothing. */
function getNextStep({ plan, credits }: Usage): string | null {
  const page = `${config.BASE_URL}/account/billing/`;
  if (plan === null) return `No active subscription: the user can choose a plan at ${page} before generating.`;
  const cheapest = Math.min(...getCatalog().models.flatMap(({ hidden, creditsBase }) => (hidden ? [] : [creditsBase])));
  return credits.balance < cheapest ? `The balance covers no generation: at ${page} the user can add credits.` : null;
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
