import { ONBOARDING_STEPS } from '../../spec/states.ts';
import { compareRows, percent, type ReportDefinition, type ReportRange, type ReportTable } from './report.ts';
import { countMetric, type DailySum, readDailySums } from './sums.ts';

/** Steps that the accounts of a range have reached. */
export const onboardingReport: ReportDefinition = {
  slug: 'onboarding',
  title: 'Onboarding funnel',
  summary: 'How many of the accounts created in a range completed their profile and chose a plan.',
  definition: [
    'Counts accounts created in the range, by the step that they have reached until now. Accounts of the previous period had more time.',
    'Saving the profile completes the first step, the start of a subscription the second. An account with a plan and without a profile is at the first step.',
    'Equals daily signups of the staff metrics.',
  ],
  defaultRange: 'last 30 days',
  build: buildOnboardingTables,
};

/** Steps of the funnel: accounts whose onboarding has reached one of the steps. */
const FUNNEL = [
  { label: 'Account created', reached: ONBOARDING_STEPS },
  { label: 'Profile completed', reached: ONBOARDING_STEPS.slice(1) },
  { label: 'Onboarding completed', reached: ONBOARDING_STEPS.slice(2) },
] as const;

async function buildOnboardingTables(range: ReportRange): Promise<ReportTable[]> {
  const sums = await readDailySums(range, ['accounts']);
  return [
    {
      key: 'funnel',
      title: 'Steps reached',
      note: 'Each step includes the accounts that went further.',
      dimensions: [{ key: 'step', label: 'Step' }],
      measures: [
        { key: 'accounts', label: 'Accounts', unit: 'count' },
        { key: 'share_percent', label: 'Share of accounts created', unit: 'percent' },
      ],
      rows: FUNNEL.map(({ label, reached }) => ({
        labels: [label],
        amounts: compareRows(sums, (rows) => countReached(rows, reached)),
      })),
    },
  ];
}

function countReached(rows: DailySum[], steps: readonly string[]): (number | null)[] {
  const accounts = steps.reduce((sum, step) => sum + countMetric(rows, 'accounts', step), 0);
  return [accounts, percent(accounts, countMetric(rows, 'accounts'))];
}
