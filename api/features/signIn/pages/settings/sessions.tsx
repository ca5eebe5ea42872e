import type { VNode } from 'preact';
import { Form } from '../../../../web/components/form.tsx';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import type { ActiveWebSession } from '../../../../../shared/domain/signIn/sessions.ts';
import { formatRelativeTime, formatDate } from '../../../../web/components/formatTime.ts';
import { t as shared } from '../../../../web/texts.ts';
import { Section } from '../../../../web/components/section.tsx';
import { SESSIONS as t } from './texts.ts';

/** Active sessions of the account. */
export function SessionsSection({ sessions }: { sessions: ActiveWebSession[] }): VNode {
  return (
    <Section id="sessions" title={t.activeSessions()}>
      <ul class="rows">
        {sessions.map((session) => {
          const name = describeBrowser(session.userAgent);
          return (
            <li>
              <div class="what">
                <h3>
                  {name} {session.isCurrent ? <span class="tag">{t.thisBrowser()}</span> : null}
                </h3>
                <span class="quiet small">
                  {t.used({
                    date: formatDate(session.createdAt),
                    lastUsed: formatRelativeTime(session.lastUsedAt),
                  })}
                </span>
              </div>
              {session.isCurrent ? (
                <Form action="/account/sign-out/">
                  <button type="submit" class="slight" aria-label={t.signOutOfThis()}>
                    {shared.signOut()}
                  </button>
                </Form>
              ) : (
                <a
                  class="button slight"
                  href={`/account/sessions/${session.uuid}/end/`}
                  aria-label={t.signOutOf({ browser: name })}
                >
                  {shared.signOut()}
                </a>
              )}
            </li>
          );
        })}
      </ul>
      {sessions.length > 1 ? (
        <p class="apart">
          <a class="button" href="/account/sessions/end-others/">
            {t.signOutOfOthers()}
          </a>
        </p>
      ) : null}
    </Section>
  );
}
