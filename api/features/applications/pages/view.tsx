import type { VNode } from 'preact';
import {
  listApplicationLimits,
  type SpendingLimits,
} from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import type { SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import { type ConnectedApplication, listConnectedApplications } from '../../../../shared/domain/oauth/grants.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getLanguage } from '../../../language.ts';
import { KEY_OPTIONS } from '../../../web/spendingTexts.ts';
import { t as shared } from '../../../web/texts.ts';
import { API_SCOPE_TEXTS, SCOPE_TEXTS } from '../../../oauth/authorize/texts.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { ConnectInstructions } from '../../../web/components/connectInstructions.tsx';
import { describeLimitUse } from '../../../web/components/spendingLimit.tsx';
import { describeLastUse, formatDate } from '../../../web/components/formatTime.ts';
import { t as names } from '../../texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { t } from './texts.ts';

export const APPLICATIONS_PATH = '/account/applications/';

const OUTCOMES = {
  'limit-saved': t.limitSaved,
  disconnected: t.disconnected,
} as const satisfies Outcomes;

/** Renders the applications with access to the account, and how to connect an assistant. */
export async function renderApplicationsPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [applications, limits] = await Promise.all([
    listConnectedApplications(accountId),
    listApplicationLimits(accountId),
  ]);
  const children = (
    <>
      <ApplicationsSection applications={applications} limits={limits} />
      <ConnectSection />
    </>
  );
  await sendAccountAreaPage(
    ctx,
    { current: APPLICATIONS_PATH, heading: names.applications(), outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function describeAccess({ scopes, usesRest }: ConnectedApplication): string {
  const texts = usesRest ? API_SCOPE_TEXTS : SCOPE_TEXTS;
  return scopes.map((scope) => toClause(texts[scope]())).join('; ');
}

/** Writes a sentence as a part of another one. In German it begins with a noun or a pronoun of address. */
function toClause(text: string): string {
  return getLanguage() === 'de' ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

interface ApplicationsSectionProps {
  applications: ConnectedApplication[];
  limits: SpendingLimits;
}

function ApplicationsSection({ applications, limits }: ApplicationsSectionProps): VNode {
  return (
    <Section id="with-access" title={t.connected()}>
      {applications.length === 0 ? (
        <p class="quiet">{t.noApplications()}</p>
      ) : (
        <ul class="rows">
          {applications.map((application) => (
            <li>
              <div class="what">
                <h3>{application.clientName}</h3>
                <span class="quiet small">
                  {t.connectedOn({
                    hosts: application.clientHosts.join(', '),
                    date: formatDate(application.connectedAt),
                    lastUse: describeLastUse(application.lastUsedAt),
                  })}
                  <br />
                  {t.access({ access: describeAccess(application) })}
                </span>
                {application.scopes.includes('svc:write') ? (
                  <LimitLine application={application} limit={limits.get(application.clientId) ?? null} />
                ) : null}
              </div>
              <a
                class="button slight danger"
                href={`${APPLICATIONS_PATH}${application.uuid}/end/`}
                aria-label={t.disconnectApplication({ name: application.clientName })}
              >
                {t.disconnect()}
              </a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function ConnectSection(): VNode {
  return (
    <Section id="connect" title={shared.connectAssistant()}>
      <p class="quiet">{t.connectLead()}</p>
      <ConnectInstructions />
      <h3 class="apart">{t.withoutBrowser()}</h3>
      <p>{t.withoutBrowserLead({ link: '/account/keys/' })}</p>
    </Section>
  );
}

/** The spending limit of an application, with what is used of it. */
function LimitLine({
  application,
  limit,
}: {
  application: ConnectedApplication;
  limit: SpendingLimitState | null;
}): VNode {
  const [label, describe] = limit === null ? [t.setLimit, t.setLimitOf] : [t.change, t.changeLimitOf];
  return (
    <p class="small">
      {limit === null ? t.noLimit() : KEY_OPTIONS.limit({ use: describeLimitUse(limit) })}{' '}
      <a
        href={`${APPLICATIONS_PATH}${application.uuid}/limit/`}
        aria-label={describe({ name: application.clientName })}
      >
        {label()}
      </a>
    </p>
  );
}
