import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';
import {
  compareRows,
  type ComputedMeasure,
  type PeriodRow,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  selectPeriod,
  sumBy,
  measureSum,
} from './report.ts';

interface StepCount extends PeriodRow {
  step: OnboardingStep;
  accounts: number;
}

const COUNT_STEPS = prepared(
  'count_onboarding_steps',
  `SELECT created_at >= :since AS is_current, onboarding_step AS step, cast(count(*) AS int) AS accounts
     FROM accounts WHERE live_account_id IS NULL AND created_at >= :previousSince AND created_at < :until GROUP BY 1, 2`,
);

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
const FUNNEL: readonly { label: string; reached: readonly OnboardingStep[] }[] = [
  { label: 'Account created', reached: ONBOARDING_STEPS },
  { label: 'Profile completed', reached: ONBOARDING_STEPS.slice(1) },
  { label: 'Onboarding completed', reached: ONBOARDING_STEPS.slice(2) },
];

async function buildOnboardingTables({ since, previousSince, until }: ReportRange): Promise<ReportTable[]> {
  const steps = await runStatement<StepCount>(COUNT_STEPS, { since, previousSince, until });
  const measures: readonly ComputedMeasure<StepCount>[] = [
    measureSum('accounts', 'Accounts'),
    {
      key: 'share_percent',
      label: 'Share of accounts created',
      unit: 'percent',
      compute: (rows, isCurrent) => percent(countAccounts(rows), countAccounts(selectPeriod(steps, isCurrent))),
    },
  ];
  return [
    {
      key: 'funnel',
      title: 'Steps reached',
      note: 'Each step includes the accounts that went further.',
      dimensions: [{ key: 'step', label: 'Step' }],
      measures,
      rows: FUNNEL.map(({ label, reached }) => ({
        labels: [label],
        amounts: compareRows(
          steps.filter(({ step }) => reached.includes(step)),
          measures,
        ),
      })),
    },
  ];
}

const countAccounts = (rows: readonly StepCount[]) => sumBy(rows, 'accounts');
