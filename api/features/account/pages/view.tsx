import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../../shared/domain/accounts/apiKeys.ts';
import { isStaff } from '../../../../shared/domain/accounts/staffRights.ts';
import { getBillingStatus } from '../../../../shared/domain/billing/billingStatus.ts';
import { type BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { getUsageSummary } from '../../../../shared/domain/usage/usageSummary.ts';
import { getUsageByDay } from '../../../../shared/domain/usage/usageByDay.ts';
import { listGenerations } from '../../../../shared/domain/generations/list.ts';
import { USAGE_HISTORY_DAYS } from '../../../../shared/spec/limits.ts';
import { listConnectedApplications } from '../../../../shared/domain/oauth/grants.ts';
import { requireCaller, requirePerson, type Context } from '../../../context.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { mayDo, type Outcome, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { RequestSamples } from '../../../web/components/requestSamples.tsx';
import { Section } from '../../../web/components/section.tsx';
import { t as shared } from '../../../web/texts.ts';
import { GenerationTile, toShownGeneration } from '../../generations/pages/generationParts.tsx';
import { LIBRARY_PATH } from '../../generations/pages/view.tsx';
import { t as pages } from '../../texts.ts';
import { t as usageTexts } from '../../usage/pages/texts.ts';
import { UsageChart } from '../../usage/pages/usage/usageChart.tsx';
import { CreditsSection } from './credits.tsx';
import { GettingStarted } from './gettingStarted.tsx';
import { t } from './texts.ts';

/** Generations that the overview shows. */
const LATEST_MAX = 4;

/**
 * Renders the overview: the first steps, credits and usage.
 * @param options.isPaymentPending true after a payment has been unconfirmed for some minutes.
 */
export async function renderOverviewPage(ctx: Context, { isPaymentPending = false } = {}): Promise<void> {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const [account, usage, days, latest, billing, keys, applications] = await Promise.all([
    getAccount(accountId),
    getUsageSummary(accountId),
    getUsageByDay(accountId, USAGE_HISTORY_DAYS),
    listGenerations(accountId, 1),
    getBillingStatus(accountId),
    listActiveApiKeys(accountId),
    listConnectedApplications(accountId),
  ]);
  const children = (
    <>
      {(await isStaff(caller)) ? (
        <p>
          <a href="/admin/" lang="en">
            Admin dashboard
          </a>
        </p>
      ) : null}
      {caller.member?.role === 'owner' ? (
        <GettingStarted account={account} billing={billing} hasAccess={keys.length + applications.length > 0} />
      ) : null}
      <div class="columns">
        <CreditsSection account={account} billing={billing} usage={usage} mayBuy={mayDo(ctx, 'manageBilling')} />
        <Section
          id="days"
          class="wider"
          title={t.creditsByDay({ days: USAGE_HISTORY_DAYS })}
          actions={<a href="/account/usage/">{pages.usage()}</a>}
        >
          <UsageChart
            title={usageTexts.creditsByDay()}
            usage={days}
            unit="credits"
            empty={usageTexts.noCreditsUsed()}
          />
        </Section>
      </div>
      {mayDo(ctx, 'viewGenerations') ? (
        <Section id="latest" title={t.latestGenerations()} actions={<a href={LIBRARY_PATH}>{pages.library()}</a>}>
          {latest.items.length === 0 ? (
            <p class="quiet">{t.noGenerations()}</p>
          ) : (
            <ul class="tiles">
              {latest.items.slice(0, LATEST_MAX).map((generation) => (
                <GenerationTile generation={toShownGeneration(generation, false)} createdAt={generation.created_at} />
              ))}
            </ul>
          )}
        </Section>
      ) : null}
      {mayDo(ctx, 'manageKeys') ? (
        <Section id="request" title={t.createWithApi()} actions={<a href="/account/keys/">{pages.apiKeys()}</a>}>
          <RequestSamples apiKey="YOUR_API_KEY" />
          <p>{t.orConnect({ link: '/account/applications/#connect' })}</p>
        </Section>
      ) : null}
    </>
  );
  const outcome = isPaymentPending ? t.paymentPending : findCheckoutOutcome(ctx.query['checkout'], billing, account);
  const { first_name: name } = requirePerson(ctx);
  const heading = name === '' ? pages.overview() : t.hello({ name });
  await sendAccountAreaPage(ctx, {
    current: '/account/',
    heading,
    outcome,
    title: shared.account,
    children,
    hasMedia: true,
  });
}

/**
 * Says what is true after a checkout, of which the payment processor gives the code in the address. Without a plan
 * nothing was paid, whatever the address says.
 */
function findCheckoutOutcome(code: unknown, { plan }: BillingStatus, { balance }: Account): Outcome | undefined {
  if (code === 'canceled') return t.checkoutCanceled;
  if (code !== 'success' || plan === null) return undefined;
  return t.paymentComplete({ plan: plan.name, balance });
}
