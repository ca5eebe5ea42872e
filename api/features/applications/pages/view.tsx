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
import { ConnectInstructions } from '../../../web/components/connectInstructions.tsx';
import { describeLimitUse } from '../../../web/components/spendingLimit.tsx';
import { formatDate, formatRelativeTime } from '../../../web/components/formatTime.ts';

export const APPLICATIONS_PATH = '/account/applications/';

const OUTCOMES = {
  'limit-saved': ['Spending limit saved', 'The spending limit is saved. It applies to the next image or video.'],
  disconnected: ['Application disconnected', 'The application is disconnected and no longer has access.'],
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
    { current: APPLICATIONS_PATH, heading: 'Assistants and apps', outcomes: OUTCOMES, ...flash, children },
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
      <h2 id="with-access">Connected applications</h2>
      {applications.length === 0 ? (
        <p class="quiet">No applications yet. Connect an assistant as described below, and it appears here.</p>
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
    </section>
  );
}

function ConnectSection(): VNode {
  return (
    <section class="card" aria-labelledby="connect">
      <h2 id="connect">Connect an assistant</h2>
      <p class="quiet">
        Ask an assistant for an image or a video in a conversation; the credits come from your account.
      </p>
      <ConnectInstructions />
      <h3 class="apart">Without a browser</h3>
      <p>
        If the program cannot open a browser, for example on a server, create an <a href="/account/keys/">API key</a>{' '}
        and send it as the header <code>Authorization: Bearer svc_…</code>.
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
