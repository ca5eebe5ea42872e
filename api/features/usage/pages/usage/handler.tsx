import type { VNode } from 'preact';
import { getUsageSummary } from '../../../../../shared/domain/usage/usageSummary.ts';
import { getUsageByDay } from '../../../../../shared/domain/usage/usageByDay.ts';
import { getKeyUsageOverview } from '../../../../../shared/domain/usage/usageByKey.ts';
import type { Context } from '../../../../context.ts';
import { sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { findShownAccount, ModeNote, TEST_QUERY } from '../../../../web/components/testData.tsx';
import { PeriodUsage } from './periodUsage.tsx';
import { UsageChart } from './usageChart.tsx';
import { listKeyRows, UsageTable } from './usageTable.tsx';

const USAGE_PATH = '/account/usage/';

/** Periods to choose from, in days. */
const PERIODS = [7, 30, 90] as const;

/** Shows credits and generations by day, by model and by API key; with `?mode=test`, the generations of test keys. */
export async function showUsagePage(ctx: Context): Promise<void> {
  const shown = await findShownAccount(ctx);
  const { accountId, isTest } = shown;
  const period = PERIODS.find((days) => String(days) === ctx.query['days']) ?? 30;
  const [summary, usage, byKey] = await Promise.all([
    getUsageSummary(accountId),
    getUsageByDay(accountId, period),
    getKeyUsageOverview(accountId),
  ]);
  const live = (
    <div class="columns">
      <section class="card" aria-labelledby="period">
        <h2 id="period">This month</h2>
        <PeriodUsage summary={summary} />
      </section>
      <section class="card wider" aria-labelledby="credits-by-day">
        <h2 id="credits-by-day">Credits by day</h2>
        <p class="quiet small">In UTC. Refunds are subtracted.</p>
        <UsageChart title="Credits by day" usage={usage} unit="credits" empty="No credits used in this period." />
      </section>
    </div>
  );
  const children = (
    <>
      <ModeNote shown={shown} path={USAGE_PATH} />
      <PeriodTabs period={period} isTest={isTest} />
      {isTest ? null : live}
      <section class="card" aria-labelledby="generations-by-day">
        <h2 id="generations-by-day">Generations by day</h2>
        <UsageChart
          title="Generations by day"
          usage={usage}
          unit="generations"
          empty={`No generations in the last ${period} days.`}
        />
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="period-by-model">
          <h2 id="period-by-model">By model, in the last {period} days</h2>
          <UsageTable title="Model" rows={usage.models.map(({ name, total }) => ({ label: name, ...total }))} />
        </section>
        <section class="card" aria-labelledby="by-model">
          <h2 id="by-model">By model, since the account was created</h2>
          <UsageTable title="Model" rows={summary.byModel.map(({ model, ...sum }) => ({ label: model, ...sum }))} />
        </section>
      </div>
      {isTest ? null : (
        <section class="card" aria-labelledby="by-key">
          <h2 id="by-key">By API key, since the account was created</h2>
          <UsageTable title="API key" rows={listKeyRows(byKey)} />
        </section>
      )}
    </>
  );
  await sendAccountAreaPage(ctx, { current: USAGE_PATH, heading: isTest ? 'Usage: test data' : 'Usage', children });
}

function PeriodTabs({ period, isTest }: { period: number; isTest: boolean }): VNode {
  return (
    <nav class="tabs" aria-label="Period">
      <ul>
        {PERIODS.map((days) => (
          <li>
            <a
              href={`${USAGE_PATH}?days=${days}${isTest ? `&${TEST_QUERY}` : ''}`}
              aria-current={days === period ? 'page' : undefined}
            >
              {days} days
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
