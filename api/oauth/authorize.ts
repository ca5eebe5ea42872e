import { getAccount } from '../../shared/domain/accounts/accounts.ts';
import { issueCode } from '../../shared/domain/oauth/authorizationCodes.ts';
import { recordApprovalRequest } from '../../shared/domain/oauth/clients.ts';
import { isLoopbackUri } from '../../shared/domain/oauth/redirectUris.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { OAuthError } from '../../shared/spec/oauth.ts';
import { requireCaller, type Context } from '../context.ts';
import { audit } from '../pipeline/auditLog.ts';
import { endCurrentSession } from '../pipeline/cookies/sessionCookie.ts';
import { buildSignInPath } from '../web/signIn/returnTo.ts';
import { getForm } from '../pipeline/body.ts';
import {
  buildRedirectUrl,
  type ClientContext,
  type AuthorizationRequest,
  validateClient,
  parseAuthorizationRequest,
} from './authorizationRequest.ts';
import {
  sendConsentPage,
  sendInvalidRequestPage,
  sendReturnToClientPage,
  sendUnknownClientPage,
} from './consentPage.tsx';

/** `GET /authorize`: asks the person who is signed in, after they have, whether a client may act for them. */
export async function showConsent(ctx: Context): Promise<void> {
  // First of all: a stranger is not to have addresses asked for, nor anybody sent to where they like.
  if (ctx.state.caller === undefined) return redirectToSignInFirst(ctx);
  const authorization = await readAuthorizationRequest(ctx);
  if (authorization === undefined) return;
  if (authorization.prompts.includes('none')) {
    const description = 'The person is asked every time, since anybody could call itself this client.';
    return sendErrorToClient(ctx, authorization, new OAuthError('consent_required', description));
  }
  const account = await getAccount(requireCaller(ctx).accountId);
  await recordApprovalRequest(authorization.client);
  sendConsentPage(ctx, authorization, account);
}

/** `POST /authorize`: the person's answer, by the form of our own page. */
export async function submitConsent(ctx: Context): Promise<void> {
  // The session has ended while the page was open.
  if (ctx.state.caller === undefined) return redirectToSignInFirst(ctx);
  const authorization = await readAuthorizationRequest(ctx);
  if (authorization === undefined) return;
  const decision = getForm(ctx).get('decision');
  if (decision === 'switch') {
    await endCurrentSession(ctx);
    return redirectToSignInFirst(ctx);
  }
  if (decision === 'deny') {
    return sendResponseToClient(
      ctx,
      authorization,
      toErrorParameters(new OAuthError('access_denied', 'The person did not allow it.')),
    );
  }
  if (decision !== 'allow')
    throw new ServiceError('validation_error', 'No decision was submitted. Go back and choose Allow or Deny.');
  const { client, scopes, redirectUri, codeChallenge } = authorization;
  const { accountId } = requireCaller(ctx);
  const approvedRequest = { accountId, clientId: client.client_id, scopes, redirectUri, codeChallenge };
  const code = await issueCode(approvedRequest).catch((error: unknown) => sendErrorToUser(ctx, error));
  if (code === undefined) return;
  await audit(ctx, 'grant_given', accountId, { client: client.client_id, scopes });
  sendResponseToClient(ctx, authorization, { code });
}

/** What is asked for, in the address; undefined where that was wrong, and has been answered. */
async function readAuthorizationRequest(ctx: Context): Promise<AuthorizationRequest | undefined> {
  const query = new URLSearchParams(ctx.querystring);
  const client = await validateClient(query, ctx.state.caller?.accountId).catch((error: unknown) =>
    sendErrorToUser(ctx, error),
  );
  if (client === undefined) return undefined;
  try {
    return parseAuthorizationRequest(client, query);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    sendErrorToClient(ctx, client, error);
    return undefined;
  }
}

/** Answers with a page where the client has no address that could be trusted with the error. */
function sendErrorToUser(ctx: Context, error: unknown): undefined {
  if (!(error instanceof OAuthError)) throw error;
  sendUnknownClientPage(ctx, error);
}

function toErrorParameters({ code, message }: OAuthError): Record<string, string> {
  return { error: code, error_description: message };
}

/**
 * Tells the client what is wrong with its question. Anybody can register an address, and have us send people there: by
 * itself a browser goes only to a loopback address, where any page could send it. For https and the schemes of
 * applications people are asked first (RFC 9700, 4.11.2).
 */
function sendErrorToClient(ctx: Context, client: ClientContext, error: OAuthError): void {
  const address = buildRedirectUrl(client, toErrorParameters(error));
  if (isLoopbackUri(client.redirectUri)) return redirectUncached(ctx, address);
  sendInvalidRequestPage(ctx, client, error.message, address);
}

/**
 * Sends the person back to the client, with our answer to what they decided. By a page of its own: browsers hold every
 * redirect that follows upon a form against the page with the form, and one to an application's scheme leaves the page
 * before it standing, with its buttons.
 */
function sendResponseToClient(ctx: Context, client: ClientContext, response: Record<string, string>): void {
  sendReturnToClientPage(ctx, client, buildRedirectUrl(client, response), 'code' in response);
}

/** Nobody is answered for who has not signed in; afterwards they come back to the same question. */
function redirectToSignInFirst(ctx: Context): void {
  redirectUncached(ctx, buildSignInPath(`/authorize?${ctx.querystring}`));
}

/** As it is written: the address has been checked, and is not to be spelled anew. */
function redirectUncached(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  // What the address carries is for its reader alone.
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('location', address);
  ctx.body = '';
}
