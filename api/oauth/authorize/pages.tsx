import type { VNode } from 'preact';
import type { OfferedLimit } from '../../../shared/domain/oauth/applicationLimits.ts';
import { getRedirectHost } from '../../../shared/domain/oauth/redirectUris.ts';
import { CLI_CLIENT, type OAuthError } from '../../../shared/spec/oauth.ts';
import type { OAuthClient } from '../../../shared/tables/OAuthClient.ts';
import type { Context } from '../../context.ts';
import { getBrand } from '../../web/brand.ts';
import { sendRedirectPage } from '../../web/components/redirectPage.tsx';
import { sendPage } from '../../web/components/layout.tsx';
import { Form, Notice } from '../../web/components/form.tsx';
import { describeLimitHint, limitForm } from '../../web/components/spendingLimit.tsx';
import { t as errors } from '../../web/errorTexts.ts';
import { t as shared } from '../../web/texts.ts';
import { API_SCOPE_TEXTS, SCOPE_TEXTS, t } from './texts.ts';
import type { AuthorizationRequest, ClientContext } from './validateRequest.ts';
import { canParseUrl } from '../../../shared/lib/canParseUrl.ts';

interface ConsentPageProps {
  request: AuthorizationRequest;
  account: { name: string; balance: number };
  /** Spending limit that the page preselects. */
  offered: OfferedLimit;
  /** Message about a spending limit that was not accepted. */
  problem?: string;
}

/**
 * Sends the consent page: the client's name, the redirect target, the account, the requested scopes, and the spending
 * limit of a client that may spend.
 */
export function sendConsentPage(ctx: Context, { request, account, offered, problem }: ConsentPageProps): void {
  const { client, redirectUri, resource, scopes } = request;
  const texts = resource === 'api' ? API_SCOPE_TEXTS : SCOPE_TEXTS;
  const { name, balance } = account;
  const host = getRedirectHost(redirectUri);
  const here = `/authorize?${ctx.querystring}`;
  const body = (
    <div class="card">
      <h1>{t.connectQuestion({ client: client.name })}</h1>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      <Publisher client={client} redirectUri={redirectUri} />
      <p>{t.asks({ brand: getBrand().name, account: name })}</p>
      <ul class="plain">
        {scopes.map((scope) => (
          <li key={scope}>
            {texts[scope]()} {scope === 'svc:write' ? t.left({ credits: balance }) : null}
          </li>
        ))}
      </ul>
      <p>{redirectUri.startsWith('http://') ? t.returnToProgram({ host }) : t.returnTo({ host })}</p>
      <p class="note">{t.onlyIfStarted()}</p>
      <Form action={here}>
        {scopes.includes('svc:write') ? (
          <limitForm.Fields
            values={limitForm.write({ limit: offered.limit })}
            hints={{ limit: describeLimitHint(offered.current, balance) }}
          />
        ) : null}
        <div class="buttons even">
          <button class="main" type="submit" name="decision" value="allow">
            {t.allow()}
          </button>
          <button type="submit" name="decision" value="deny">
            {t.deny()}
          </button>
        </div>
      </Form>
      <p class="quiet small">{t.changeLater({ link: '/account/applications/' })}</p>
      <Form action={here}>
        <button class="slight" type="submit" name="decision" value="switch">
          {t.otherAccount()}
        </button>
      </Form>
    </div>
  );
  const heading = t.connect({ client: client.name });
  const title = problem === undefined ? heading : shared.errorTitle({ heading });
  sendPage(ctx, { title, body, isNarrow: true }, problem === undefined ? 200 : 400);
}

/**
 * Names the publisher of a client. A metadata document proves its host; the code reaches that publisher for certain
 * only if it is returned to a web address of the document, because other programs of a computer can receive it as well.
 * For the same reason the service's own command line is not shown as verified.
 */
function Publisher({ client, redirectUri }: { client: OAuthClient; redirectUri: string }): VNode {
  if (client.client_id === CLI_CLIENT.client_id) {
    return <p>{t.ownProgram({ brand: getBrand().name })}</p>;
  }
  if (!canParseUrl(client.client_id)) {
    return <p>{t.notVerified({ tag: (children) => <span class="tag warn">{children}</span> })}</p>;
  }
  return (
    <p>
      {redirectUri.startsWith('https://') ? <span class="tag">{t.verified()}</span> : null}{' '}
      {t.publishedBy({ host: new URL(client.client_id).host })}
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
  const names = { client: client.name };
  if (/^https?:/i.test(redirectUri)) return sendRedirectPage(ctx, url, isAllowed ? t.allowed(names) : t.denied(names));
  // The page stays open beside an application that the browser opens.
  const sentence = isAllowed ? t.allowedOpening(names) : t.deniedOpening(names);
  sendRedirectPage(ctx, url, sentence, { heading: t.oneMoment() });
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
      <h1>{t.nothingConnected()}</h1>
      <p>{t.invalidRequest({ client: client.name })}</p>
      <p>{t.mayReturn({ host: getRedirectHost(redirectUri) })}</p>
      <p>
        <a class="button wide" href={url} rel="noreferrer">
          {t.backToApplication()}
        </a>
      </p>
      <p class="quiet small">{t.forDevelopers({ detail })}</p>
    </div>
  );
  sendPage(ctx, { title: t.nothingConnected(), body, isNarrow: true }, 400);
}

/** Sends a page for a client that is unknown or has no valid redirect URI. */
export function sendUnknownClientPage(ctx: Context, { message, advice }: OAuthError): void {
  const body = (
    <div class="card">
      <h1>{t.nothingConnected()}</h1>
      <p>{t.cannotConnect()}</p>
      <p>{advice ?? t.startAgain()}</p>
      <p>
        <a href="/account/">{errors.goToAccount()}</a>
      </p>
      <p class="quiet small">{t.forDevelopers({ detail: message })}</p>
    </div>
  );
  sendPage(ctx, { title: t.nothingConnected(), body, isNarrow: true }, 400);
}
