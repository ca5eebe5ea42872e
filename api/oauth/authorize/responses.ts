import { issuer } from '../../../shared/domain/oauth/accessTokens.ts';
import { isLoopbackUri } from '../../../shared/domain/oauth/redirectUris.ts';
import { OAuthError } from '../../../shared/spec/oauth.ts';
import type { Context } from '../../context.ts';
import { buildSignInPath } from '../../features/signIn/pages/signIn/returnTo.ts';
import { sendInvalidRequestPage, sendReturnToClientPage, sendUnknownClientPage } from './pages.tsx';
import type { ClientContext } from './validateRequest.ts';

/** Redirects a visitor without a session to sign-in, which returns to this authorization request. */
export function redirectToSignInFirst(ctx: Context): void {
  redirectUncached(ctx, buildSignInPath(`/authorize?${ctx.querystring}`));
}

/**
 * Sends an error to the user as a page, when there is no verified redirect URI to send it to.
 * @throws the error itself, if it is not an OAuthError.
 */
export function sendErrorToUser(ctx: Context, error: unknown): undefined {
  if (!(error instanceof OAuthError)) throw error;
  sendUnknownClientPage(ctx, error);
}

/**
 * Sends an error in the request to the client. Anyone can register a client, so an automatic redirect would be an open
 * redirector: only loopback addresses get one, and users confirm all others on a page first (RFC 9700, 4.11.2).
 */
export function sendErrorToClient(ctx: Context, client: ClientContext, error: OAuthError): void {
  const url = buildRedirectUrl(client, toErrorParameters(error));
  if (isLoopbackUri(client.redirectUri)) return redirectUncached(ctx, url);
  sendInvalidRequestPage(ctx, client, error.message, url);
}

/** Returns the user to the client with an authorization code. */
export function sendCodeToClient(ctx: Context, client: ClientContext, code: string): void {
  sendReturnToClientPage(ctx, client, buildRedirectUrl(client, { code }), true);
}

/** Returns the user to the client with `access_denied`. */
export function sendDenialToClient(ctx: Context, client: ClientContext): void {
  const error = new OAuthError('access_denied', 'The user denied the request.');
  sendReturnToClientPage(ctx, client, buildRedirectUrl(client, toErrorParameters(error)), false);
}

function toErrorParameters({ code, message }: OAuthError): Record<string, string> {
  return { error: code, error_description: message };
}

/** Adds the response parameters to the redirect URI. `iss` identifies this server (RFC 9207). */
function buildRedirectUrl({ redirectUri, state }: ClientContext, response: Record<string, string>): string {
  const query = new URLSearchParams({ ...response, ...(state === undefined ? {} : { state }), iss: issuer() });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** Redirects to a URL exactly as it is written: it was validated, and Koa would encode it again. */
function redirectUncached(ctx: Context, url: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  // The URL may contain a code or the client's state.
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('location', url);
  ctx.body = '';
}
