import type { VNode } from 'preact';
import { Form } from '../../../../web/components/form.tsx';
import { describeBrowser } from '../../../../../shared/lib/browserName.ts';
import type { ActiveWebSession } from '../../../../../shared/domain/signIn/sessions.ts';
import { formatRelativeTime, formatDate } from '../../../../web/components/formatTime.ts';

interface SessionsProps {
  sessions: ActiveWebSession[];
  csrfToken: string;
}

/** Active sessions of the account. */
export function SessionsSection({ sessions, csrfToken }: SessionsProps): VNode {
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
              {session.isCurrent ? (
                <Form action="/account/sign-out/" token={csrfToken}>
                  <button type="submit" class="slight" aria-label="Sign out of this browser">
                    Sign out
                  </button>
                </Form>
              ) : (
                <a
                  class="button slight"
                  href={`/account/sessions/${session.uuid}/end/`}
                  aria-label={`Sign out ${name}`}
                >
                  Sign out
                </a>
              )}
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
