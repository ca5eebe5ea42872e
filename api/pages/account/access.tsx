import type { VNode } from 'preact';
import { SCOPES } from '../../../shared/spec/oauth.ts';
import { Form } from '../parts.tsx';
import { browserName } from './browserName.ts';
import type { FormSecrets, Overview } from './overview.ts';
import { ago, day } from './times.ts';

/** The applications that may act for the account. */
export function Applications({ applications, secrets }: Overview & { secrets: FormSecrets }): VNode {
  return (
    <section class="card" aria-labelledby="applications">
      <h2 id="applications">Connected applications</h2>
      {applications.length === 0 ? (
        <p class="quiet">None. Assistants and programs that you connect are listed here.</p>
      ) : (
        <ul class="rows">
          {applications.map((application) => (
            <li>
              <div class="what">
                <h3>{application.clientName}</h3>
                <span class="quiet small">
                  {application.clientHosts.join(', ')}, connected on {day(application.connectedAt)},{' '}
                  {application.lastUsedAt === null ? 'not used yet' : `last used ${ago(application.lastUsedAt)}`}
                  <br />
                  May: {application.scopes.map((scope) => SCOPES[scope].toLowerCase()).join('; ')}.
                </span>
              </div>
              <Form action={`/account/applications/${application.uuid}/end/`} token={secrets.token}>
                <button type="submit" class="slight danger" aria-label={`Disconnect ${application.clientName}`}>
                  Disconnect
                </button>
              </Form>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The browsers that are signed in. */
export function Sessions({ sessions, secrets }: Overview & { secrets: FormSecrets }): VNode {
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">Where you are signed in</h2>
      <ul class="rows">
        {sessions.map((session) => {
          const name = browserName(session.userAgent);
          return (
            <li>
              <div class="what">
                <h3>
                  {name} {session.isCurrent ? <span class="tag">this browser</span> : null}
                </h3>
                <span class="quiet small">
                  Signed in on {day(session.createdAt)}, last used {ago(session.lastUsedAt)}
                </span>
              </div>
              <Form
                action={session.isCurrent ? '/account/sign-out/' : `/account/sessions/${session.uuid}/end/`}
                token={secrets.token}
              >
                <button
                  type="submit"
                  class="slight"
                  aria-label={session.isCurrent ? 'Sign out of this browser' : `End the session of ${name}`}
                >
                  {session.isCurrent ? 'Sign out' : 'End'}
                </button>
              </Form>
            </li>
          );
        })}
      </ul>
      {sessions.length > 1 ? (
        <Form action="/account/sessions/end-others/" token={secrets.token}>
          <button type="submit">Sign out everywhere else</button>
        </Form>
      ) : null}
    </section>
  );
}
