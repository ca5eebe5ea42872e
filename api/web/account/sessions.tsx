import type { VNode } from 'preact';
import { SCOPES } from '../../../shared/spec/oauth.ts';
import { ConnectInstructions } from '../components/connectInstructions.tsx';
import { Form } from '../components/form.tsx';
import { describeBrowser } from './browserName.ts';
import type { AccountFormContext, AccountOverview } from './overview.ts';
import { formatRelativeTime, formatDate } from '../components/formatTime.ts';

/** Applications with access to the account. */
export function ApplicationsSection({ applications }: AccountOverview): VNode {
  return (
    <section class="card" aria-labelledby="applications">
      <h2 id="applications">Connected applications</h2>
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
                href={`/account/applications/${application.uuid}/end/`}
                aria-label={`Disconnect ${application.clientName}`}
              >
                Disconnect
              </a>
            </li>
          ))}
        </ul>
      )}
      {applications.length === 0 ? (
        <ConnectInstructions />
      ) : (
        <details class="apart">
          <summary>Connect another application</summary>
          <ConnectInstructions />
        </details>
      )}
    </section>
  );
}

/** Active sessions of the account. */
export function SessionsSection({
  sessions,
  formContext,
}: AccountOverview & { formContext: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">Active sessions</h2>
      <ul class="rows">
        {sessions.map((session) => {
          const name = describeBrowser(session.userAgent);
          return (
            <li>
              <div class="what">
                <h3>
                  {name} {session.isCurrent ? <span class="tag">This browser</span> : null}
                </h3>
                <span class="quiet small">
                  Signed in on {formatDate(session.createdAt)}, last used {formatRelativeTime(session.lastUsedAt)}
                </span>
              </div>
              <Form
                action={session.isCurrent ? '/account/sign-out/' : `/account/sessions/${session.uuid}/end/`}
                token={formContext.csrfToken}
              >
                <button
                  type="submit"
                  class="slight"
                  aria-label={session.isCurrent ? 'Sign out of this browser' : `Sign out ${name}`}
                >
                  Sign out
                </button>
              </Form>
            </li>
          );
        })}
      </ul>
      {sessions.length > 1 ? (
        <p class="apart">
          <a class="button" href="/account/sessions/end-others/">
            Sign out of all other sessions
          </a>
        </p>
      ) : null}
    </section>
  );
}
