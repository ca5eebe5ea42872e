import { getRedirectHost } from '../../shared/domain/oauth/redirectUris.ts';
import { type OAuthError, SCOPES } from '../../shared/spec/oauth.ts';
import type { Account } from '../../shared/tables/Account.ts';
import type { Context } from '../context.ts';
import { createCsrfToken } from '../pipeline/csrf.ts';
import { sendRedirectPage } from '../web/components/redirectPage.tsx';
import { sendPage } from '../web/components/layout.tsx';
import { Form } from '../web/components/form.tsx';
import type { ClientContext, AuthorizationRequest } from './authorizationRequest.ts';

/** Asks whether a client may act for the account: who it says it is, where the answer goes, and what it will be able to do. */
export function sendConsentPage(
  ctx: Context,
  { client, redirectUri, scopes }: AuthorizationRequest,
  { email, balance }: Account,
): void {
  const here = `/authorize?${ctx.querystring}`;
  const publisher = URL.canParse(client.client_id) ? new URL(client.client_id).host : undefined;
  const body = (
    <div class="card">
      <h1>Connect {client.name}?</h1>
      <p>
        <strong>{client.name}</strong> asks for access to your account <strong>{email}</strong>.{' '}
        {publisher === undefined ? (
          'The name is its own choice and is not verified.'
        ) : (
          <>
            Published by <code>{publisher}</code>.
          </>
        )}
      </p>
      <p>It will be able to:</p>
      <ul class="plain">
        {scopes.map((scope) => (
          <li key={scope}>
            {SCOPES[scope]}
            {scope === 'svc:write' ? ` (${balance.toLocaleString('en-GB')} left)` : ''}
          </li>
        ))}
      </ul>
      <p>
        After your decision you return to <code>{getRedirectHost(redirectUri)}</code>
        {redirectUri.startsWith('http://') ? ', a program on this computer' : ''}.
      </p>
      <p class="note">Allow this only if you have just started it there.</p>
      <Form action={here} token={createCsrfToken(ctx)} class="buttons even">
        <button class="main" type="submit" name="decision" value="allow">
          Allow
        </button>
        <button type="submit" name="decision" value="deny">
          Deny
        </button>
      </Form>
      <p class="quiet small">
        You can disconnect it at any time on your <a href="/account/">account page</a>. Not your account?
      </p>
      <Form action={here} token={createCsrfToken(ctx)}>
        <button class="slight" type="submit" name="decision" value="switch">
          Use another account
        </button>
      </Form>
    </div>
  );
  sendPage(ctx, { title: `Connect ${client.name}`, body, isNarrow: true });
}

/** Returns the person to the client. An application with a scheme of its own opens beside the browser: the page stays. */
export function sendReturnToClientPage(
  ctx: Context,
  { client, redirectUri }: ClientContext,
  address: string,
  isAllowed: boolean,
): void {
  const outcome = isAllowed ? `You allowed ${client.name}.` : `You did not allow ${client.name}.`;
  const isApplication = !/^https?:/i.test(redirectUri);
  const next = isApplication
    ? 'Your browser opens the application now. If nothing happens, choose Continue. You can close this page afterwards.'
    : 'You return to the application.';
  sendRedirectPage(ctx, address, `${outcome} ${next}`);
}

/** Says that a request of a client is wrong, and lets the person choose to return to it with the error. */
export function sendInvalidRequestPage(
  ctx: Context,
  { client, redirectUri }: ClientContext,
  sentence: string,
  address: string,
): void {
  const body = (
    <div class="card">
      <h1>Nothing was connected</h1>
      <p>
        {client.name} sent a request that this service cannot accept. The mistake is in the application, and you cannot
        correct it here.
      </p>
      <p>
        You can return to <code>{getRedirectHost(redirectUri)}</code>, if you have just come from there.
      </p>
      <p>
        <a class="button wide" href={address} rel="noreferrer">
          Back to the application
        </a>
      </p>
      <p class="quiet small">For its developers: {sentence}</p>
    </div>
  );
  sendPage(ctx, { title: 'Nothing was connected', body, isNarrow: true }, 400);
}

/** Says that a client cannot be connected, where there is no address of it that could be told. */
export function sendUnknownClientPage(ctx: Context, { message, advice }: OAuthError): void {
  const body = (
    <div class="card">
      <h1>Nothing was connected</h1>
      <p>The application that sent you here cannot be connected.</p>
      <p>{advice ?? 'Start the connection in the application again. If that does not help, tell its developers.'}</p>
      <p>
        <a href="/account/">Go to your account</a>
      </p>
      <p class="quiet small">For its developers: {message}</p>
    </div>
  );
  sendPage(ctx, { title: 'Nothing was connected', body, isNarrow: true }, 400);
}
