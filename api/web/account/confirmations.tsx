import type { ConnectedApplication } from '../../../shared/domain/oauth/grants.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { Context } from '../../context.ts';
import { sendConfirmationPage } from '../components/confirmationPage.tsx';
import { formatRelativeTime } from '../components/formatTime.ts';

/** Asks for confirmation before an API key is revoked. */
export function sendRevokeKeyConfirmation(ctx: Context, { uuid, name, prefix, last_used_at: usedAt }: ApiKey): void {
  const children = (
    <>
      <p>
        <code>{prefix}…</code>, {usedAt === null ? 'never used' : `last used ${formatRelativeTime(usedAt)}`}
      </p>
      <p>Programs that use this key stop working immediately. This cannot be undone.</p>
    </>
  );
  const action = `/account/keys/${uuid}/revoke/`;
  sendConfirmationPage(ctx, { question: `Revoke API key “${name}”?`, children, button: 'Revoke', action });
}

/** Asks for confirmation before an application is disconnected. */
export function sendDisconnectConfirmation(
  ctx: Context,
  { uuid, clientName, clientHosts, lastUsedAt }: ConnectedApplication,
): void {
  const children = (
    <>
      <p>
        {clientHosts.join(', ')}, {lastUsedAt === null ? 'never used' : `last used ${formatRelativeTime(lastUsedAt)}`}
      </p>
      <p>The application loses access immediately. To use it again, connect it again.</p>
    </>
  );
  const action = `/account/applications/${uuid}/end/`;
  sendConfirmationPage(ctx, { question: `Disconnect ${clientName}?`, children, button: 'Disconnect', action });
}

/** Asks for confirmation before all other sessions are ended. */
export function sendEndOtherSessionsConfirmation(ctx: Context): void {
  sendConfirmationPage(ctx, {
    question: 'Sign out of all other sessions?',
    children: <p>Your other browsers are signed out immediately. API keys and connected applications keep working.</p>,
    button: 'Sign out',
    action: '/account/sessions/end-others/',
  });
}
