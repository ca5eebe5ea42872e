import type { VNode } from 'preact';
import { getBillingStatus } from '../../../../../shared/domain/billing/billingStatus.ts';
import { getUsageSummary } from '../../../../../shared/domain/usage/usageSummary.ts';
import { getUsageByDay } from '../../../../../shared/domain/usage/usageByDay.ts';
import { listMemberUsage } from '../../../../../shared/domain/usage/usageByMember.ts';
import { getKeyUsageOverview } from '../../../../../shared/domain/usage/usageByKey.ts';
import type { Context } from '../../../../context.ts';
import { parsePage } from '../../../../pipeline/lists.ts';
import { sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { PageLinks } from '../../../../web/components/pageLinks.tsx';
import { findShownAccount, ModeNote, TEST_QUERY } from '../../../../web/components/testData.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { t as pages } from '../../../texts.ts';
import { t } from '../texts.ts';
import { Section } from '../../../../web/components/section.tsx';
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
  const [summary, billing, usage, byKey, byMember] = await Promise.all([
    getUsageSummary(accountId),
    getBillingStatus(accountId),
    getUsageByDay(accountId, period),
    getKeyUsageOverview(accountId),
    listMemberUsage(accountId, parsePage(ctx)),
  ]);
  const live = (
    <div class="columns">
      <Section id="period" title={t.thisMonth()}>
        <PeriodUsage summary={summary} status={billing.status} />
      </Section>
      <Section id="credits-by-day" class="wider" title={t.creditsByDay()}>
        <p class="quiet small">{t.inUtc()}</p>
        <UsageChart title={t.creditsByDay()} usage={usage} unit="credits" empty={t.noCreditsUsed()} />
      </Section>
    </div>
  );
  const children = (
    <>
      <ModeNote shown={shown} path={USAGE_PATH} />
      <PeriodTabs period={period} isTest={isTest} />
      {isTest ? null : live}
      <Section id="generations-by-day" title={t.generationsByDay()}>
        <UsageChart
          title={t.generationsByDay()}
          usage={usage}
          unit="generations"
          empty={t.noGenerationsInPeriod({ days: period })}
        />
      </Section>
      <div class="columns">
        <Section id="period-by-model" title={t.byModelInPeriod({ days: period })}>
          <UsageTable
            title={shared.model()}
            rows={usage.models.map(({ name, total }) => ({ label: name, ...total }))}
          />
        </Section>
        <Section id="by-model" title={t.byModel()}>
          <UsageTable
            title={shared.model()}
            rows={summary.byModel.map(({ model, ...sum }) => ({ label: model, ...sum }))}
          />
        </Section>
      </div>
      {isTest ? null : (
        <Section id="by-key" title={t.byKey()}>
          <UsageTable title={shared.apiKey()} rows={listKeyRows(byKey)} />
        </Section>
      )}
      {byMember.totalItems < 2 ? null : (
        <Section id="by-member" title={t.byMember()}>
          <UsageTable
            title={shared.member()}
            rows={byMember.items.map(({ email, ...sum }) => ({ label: email, ...sum }))}
          />
          <PageLinks list={byMember} path={USAGE_PATH} query={`days=${period}`} fragment="by-member" />
        </Section>
      )}
    </>
  );
  await sendAccountAreaPage(ctx, { current: USAGE_PATH, heading: isTest ? t.testData() : pages.usage(), children });
}

function PeriodTabs({ period, isTest }: { period: number; isTest: boolean }): VNode {
  return (
    <nav class="tabs" aria-label={t.period()}>
      <ul>
        {PERIODS.map((days) => (
          <li>
            <a
              href={`${USAGE_PATH}?days=${days}${isTest ? `&${TEST_QUERY}` : ''}`}
              aria-current={days === period ? 'page' : undefined}
            >
              {t.days({ days })}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
