import type { VNode } from 'preact';
import {
  listApplicationLimits,
  type SpendingLimits,
} from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import type { SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import { type ConnectedApplication, listConnectedApplications } from '../../../../shared/domain/oauth/grants.ts';
import { API_SCOPES, SCOPES } from '../../../../shared/spec/oauth.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { CONNECT_PATH } from '../../connect/pages/handler.tsx';
import { describeLimitUse } from '../../../web/components/spendingLimit.tsx';
import { formatDate, formatRelativeTime } from '../../../web/components/formatTime.ts';

export const APPLICATIONS_PATH = '/account/applications/';

const OUTCOMES = {
  'limit-saved': ['Spending limit saved', 'The spending limit is saved. It applies to the next image or video.'],
  disconnected: ['Application disconnected', 'The application is disconnected and no longer has access.'],
} as const satisfies Outcomes;

/** Renders the applications with access to the account. */
export async function renderApplicationsPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [applications, limits] = await Promise.all([
    listConnectedApplications(accountId),
    listApplicationLimits(accountId),
  ]);
  const children = <ApplicationsSection applications={applications} limits={limits} />;
  await sendAccountAreaPage(
    ctx,
    { current: APPLICATIONS_PATH, heading: 'Connected applications', outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function describeAccess({ scopes, usesRest }: ConnectedApplication): string {
  const texts = usesRest ? API_SCOPES : SCOPES;
  return scopes.map((scope) => texts[scope].toLowerCase()).join('; ');
}

interface ApplicationsSectionProps {
  applications: ConnectedApplication[];
  limits: SpendingLimits;
}

function ApplicationsSection({ applications, limits }: ApplicationsSectionProps): VNode {
  return (
    <section class="card" aria-labelledby="with-access">
      <h2 id="with-access">Applications with access</h2>
      {applications.length === 0 ? (
        <p class="quiet">No applications yet. Assistants and programs that you connect appear here.</p>
      ) : (
        <ul class="rows">
          {applications.map((application) => (
            <li>
              <div class="what">
                <h3>{application.clientName}</h3>
                <span class="quiet small">
                  {application.clientHosts.join(', ')}, connected on {formatDate(application.connectedAt)},{' '}
                  {application.lastUsedAt === null
                    ? 'never used'
                    : `last used ${formatRelativeTime(application.lastUsedAt)}`}
                  <br />
                  Access: {describeAccess(application)}.
                </span>
                {application.scopes.includes('svc:write') ? (
                  <LimitLine application={application} limit={limits.get(application.clientId) ?? null} />
                ) : null}
              </div>
              <a
                class="button slight danger"
                href={`${APPLICATIONS_PATH}${application.uuid}/end/`}
                aria-label={`Disconnect ${application.clientName}`}
              >
                Disconnect
              </a>
            </li>
          ))}
        </ul>
      )}
      <p class="apart">
        <a class={applications.length === 0 ? 'button main' : 'button'} href={CONNECT_PATH}>
          Connect an assistant
        </a>
      </p>
    </section>
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
  return (
    <p class="small">
      {limit === null ? 'No spending limit.' : `Spending limit: ${describeLimitUse(limit)}`}{' '}
      <a
        href={`${APPLICATIONS_PATH}${application.uuid}/limit/`}
        aria-label={`${limit === null ? 'Set a limit for' : 'Change the spending limit of'} ${application.clientName}`}
      >
        {limit === null ? 'Set a limit' : 'Change'}
      </a>
    </p>
  );
}
