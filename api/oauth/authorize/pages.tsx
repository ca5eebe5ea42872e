import type { VNode } from 'preact';
import type { OfferedLimit } from '../../../shared/domain/oauth/applicationLimits.ts';
import { getRedirectHost } from '../../../shared/domain/oauth/redirectUris.ts';
import { API_SCOPES, type OAuthError, SCOPES } from '../../../shared/spec/oauth.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { OAuthClient } from '../../../shared/tables/OAuthClient.ts';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { getBrand } from '../../web/brand.ts';
import { sendRedirectPage } from '../../web/components/redirectPage.tsx';
import { sendPage } from '../../web/components/layout.tsx';
import { Form, Notice } from '../../web/components/form.tsx';
import { formatNumber } from '../../web/components/formatAmount.ts';
import { describeLimitHint, limitForm } from '../../web/components/spendingLimit.tsx';
import type { AuthorizationRequest, ClientContext } from './validateRequest.ts';
import { canParseUrl } from '../../../shared/lib/canParseUrl.ts';

interface ConsentPageProps {
  request: AuthorizationRequest;
  account: Account;
  /** Spending limit that the page preselects. */
  offered: OfferedLimit;
  /** Message about a spending limit that was not accepted, and what the user entered. */
  rejected?: { problem: string; values: URLSearchParams };
}

/**
 * Sends the consent page: the client's name, the redirect target, the account, the requested scopes, and the spending
 * limit of a client that may spend.
 */
export function sendConsentPage(ctx: Context, { request, account, offered, rejected }: ConsentPageProps): void {
  const { client, redirectUri, resource, scopes } = request;
  const texts = resource === 'api' ? API_SCOPES : SCOPES;
  const { email, balance } = account;
  const here = `/authorize?${ctx.querystring}`;
  const body = (
    <div class="card">
      <h1>Connect {client.name}?</h1>
      {rejected === undefined ? null : <Notice kind="bad">{rejected.problem}</Notice>}
      <Publisher client={client} redirectUri={redirectUri} />
      <p>
        It asks for access to your {getBrand().name} account <strong>{email}</strong> and will be able to:
      </p>
      <ul class="plain">
        {scopes.map((scope) => (
          <li key={scope}>
            {texts[scope]}
            {scope === 'svc:write' ? ` (${formatNumber(balance)} left)` : ''}
          </li>
        ))}
      </ul>
      <p>
        After your decision you return to <code>{getRedirectHost(redirectUri)}</code>
        {redirectUri.startsWith('http://') ? ', a program on this computer' : ''}.
      </p>
      <p class="note">Allow this only if you have just started it there.</p>
      <Form action={here} token={createCsrfToken(ctx)}>
        {scopes.includes('svc:write') ? (
          <limitForm.Fields
            values={rejected?.values ?? limitForm.write({ limit: offered.limit })}
            hints={{ limit: describeLimitHint(offered.current, balance) }}
            isInvalid={rejected !== undefined}
          />
        ) : null}
        <div class="buttons even">
          <button class="main" type="submit" name="decision" value="allow">
            Allow
          </button>
          <button type="submit" name="decision" value="deny">
            Deny
          </button>
        </div>
      </Form>
      <p class="quiet small">
        You can change this or disconnect it at any time under <a href="/account/applications/">Assistants and apps</a>.
        Not your account?
      </p>
      <Form action={here} token={createCsrfToken(ctx)}>
        <button class="slight" type="submit" name="decision" value="switch">
          Use another account
        </button>
      </Form>
    </div>
  );
  const title = `${rejected === undefined ? '' : 'Error: '}Connect ${client.name}`;
  sendPage(ctx, { title, body, isNarrow: true }, rejected === undefined ? 200 : 400);
}

/**
 * Names the publisher of a client. A metadata document proves its host; the code reaches that publisher for certain only
 * if it is returned to a web address of the document, because other programs of a computer can receive it as well.
 */
function Publisher({ client, redirectUri }: { client: OAuthClient; redirectUri: string }): VNode {
  if (!canParseUrl(client.client_id)) {
    return (
      <p>
        <span class="tag warn">Not verified</span> The application chose this name itself.
      </p>
    );
  }
  return (
    <p>
      {redirectUri.startsWith('https://') ? <span class="tag">Verified</span> : null} Published by{' '}
      <strong>{new URL(client.client_id).host}</strong>
    </p>
  );
}

/**
 * Returns the user to the client after a decision, by a page with a refresh. Browsers apply the form-action policy to
 * redirects after a form, and a redirect to an application's own scheme would leave the consent page open.
 */
export function sendReturnToClientPage(
  ctx: Context,
  { client, redirectUri }: ClientContext,
  url: string,
  isAllowed: boolean,
): void {
  const outcome = isAllowed ? `You allowed ${client.name}.` : `You did not allow ${client.name}.`;
  if (/^https?:/i.test(redirectUri))
    return sendRedirectPage(ctx, url, `${outcome} You are returning to the application.`);
  // The page stays open beside an application that the browser opens.
  const next =
    'Your browser opens the application now. If nothing happens, choose Continue. You can close this page afterwards.';
  sendRedirectPage(ctx, url, `${outcome} ${next}`, { heading: 'One moment' });
}

/** Sends a page for an invalid request of a known client, with a link that returns the error to the client. */
export function sendInvalidRequestPage(
  ctx: Context,
  { client, redirectUri }: ClientContext,
  detail: string,
  url: string,
): void {
  const body = (
    <div class="card">
      <h1>Nothing was connected</h1>
      <p>{client.name} sent an invalid request. The problem is in the application, and you cannot fix it here.</p>
      <p>
        You can return to <code>{getRedirectHost(redirectUri)}</code> if you started the connection there.
      </p>
      <p>
        <a class="button wide" href={url} rel="noreferrer">
          Back to the application
        </a>
      </p>
      <p class="quiet small">For developers: {detail}</p>
    </div>
  );
  sendPage(ctx, { title: 'Nothing was connected', body, isNarrow: true }, 400);
}

/** Sends a page for a client that is unknown or has no valid redirect URI. */
export function sendUnknownClientPage(ctx: Context, { message, advice }: OAuthError): void {
  const body = (
    <div class="card">
      <h1>Nothing was connected</h1>
      <p>The application that sent you here cannot be connected.</p>
      <p>{advice ?? 'Start the connection in the application again. If it still fails, contact its developers.'}</p>
      <p>
        <a href="/account/">Go to your account</a>
      </p>
      <p class="quiet small">For developers: {message}</p>
    </div>
  );
  sendPage(ctx, { title: 'Nothing was connected', body, isNarrow: true }, 400);
}
