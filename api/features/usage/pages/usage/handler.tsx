import { getUsageSummary } from '../../../../../shared/domain/usage/usageSummary.ts';
import { getKeyUsageOverview } from '../../../../../shared/domain/usage/usageByKey.ts';
import type { Context } from '../../../../context.ts';
import { sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { BarChart } from '../../../../web/components/charts.tsx';
import { findShownAccount, ModeNote } from '../../../../web/components/testData.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { PeriodUsage } from './periodUsage.tsx';
import { listKeyRows, UsageTable } from './usageTable.tsx';

const USAGE_PATH = '/account/usage/';

/** Shows credits and generations by day, by model and by API key; with `?mode=test`, the generations of test keys. */
export async function showUsagePage(ctx: Context): Promise<void> {
  const shown = await findShownAccount(ctx);
  const { accountId, isTest } = shown;
  const [summary, byKey] = await Promise.all([getUsageSummary(accountId), getKeyUsageOverview(accountId)]);
  const { history, byModel } = summary;
  const live = (
    <>
      <section class="card" aria-labelledby="period">
        <h2 id="period">This period</h2>
        <PeriodUsage summary={summary} />
      </section>
      <section class="card" aria-labelledby="credits-by-day">
        <h2 id="credits-by-day">Credits by day</h2>
        <p class="quiet">The last 30 days in UTC, including today. Refunds are subtracted.</p>
        <BarChart
          title="Credits by day"
          bars={history.map(({ date, credits }) => ({ label: date, value: credits }))}
          format={formatNumber}
          empty="No credits used in these days."
        />
      </section>
    </>
  );
  const children = (
    <>
      <ModeNote shown={shown} path={USAGE_PATH} />
      {isTest ? null : live}
      <section class="card" aria-labelledby="generations-by-day">
        <h2 id="generations-by-day">Generations by day</h2>
        <BarChart
          title="Generations by day"
          bars={history.map(({ date, generations }) => ({ label: date, value: generations }))}
          format={formatNumber}
          kind="second"
          empty="No generations in the last 30 days."
        />
      </section>
      <section class="card" aria-labelledby="by-model">
        <h2 id="by-model">By model, since the account was created</h2>
        <UsageTable title="Model" rows={byModel.map(({ model, ...sum }) => ({ label: model, ...sum }))} />
      </section>
      {isTest ? null : (
        <section class="card" aria-labelledby="by-key">
          <h2 id="by-key">By API key, since the account was created</h2>
          <UsageTable title="API key" rows={listKeyRows(byKey)} />
        </section>
      )}
    </>
  );
  sendAccountAreaPage(ctx, { current: USAGE_PATH, heading: isTest ? 'Usage: test data' : 'Usage', children });
}
