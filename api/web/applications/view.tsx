import type { VNode } from 'preact';
import { type ConnectedApplication, listConnectedApplications } from '../../../shared/domain/oauth/grants.ts';
import { SCOPES } from '../../../shared/spec/oauth.ts';
import { requireCaller, type Context } from '../../context.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../components/accountPage.tsx';
import { CONNECT_PATH } from '../connect/handler.tsx';
import { formatDate, formatRelativeTime } from '../components/formatTime.ts';

export const APPLICATIONS_PATH = '/account/applications/';

const OUTCOMES = {
  disconnected: ['Application disconnected', 'The application is disconnected and no longer has access.'],
} as const satisfies Outcomes;

/** Renders the applications with access to the account. */
export async function renderApplicationsPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const applications = await listConnectedApplications(requireCaller(ctx).accountId);
  const children = <ApplicationsSection applications={applications} />;
  sendAccountAreaPage(
    ctx,
    { current: APPLICATIONS_PATH, heading: 'Connected applications', outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function ApplicationsSection({ applications }: { applications: ConnectedApplication[] }): VNode {
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
                  Access: {application.scopes.map((scope) => SCOPES[scope].toLowerCase()).join('; ')}.
                </span>
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
