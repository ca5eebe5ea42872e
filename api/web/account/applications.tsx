import type { VNode } from 'preact';
import { SCOPES } from '../../../shared/spec/oauth.ts';
import { ConnectInstructions } from '../components/connectInstructions.tsx';
import { formatDate, formatRelativeTime } from '../components/formatTime.ts';
import type { AccountOverview } from './overview.ts';

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
