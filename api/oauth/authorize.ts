import { accountById } from '../../shared/domain/accounts.ts';
import { approve } from '../../shared/domain/oauth/codes.ts';
import { noteApprovalRequest } from '../../shared/domain/oauth/clients.ts';
import { isLoopback } from '../../shared/domain/oauth/redirects.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { OAuthRefusal } from '../../shared/spec/oauth.ts';
import { callerOf, type Context } from '../context.ts';
import { audit } from '../middleware/audit.ts';
import { endOwnSession } from '../middleware/sessionCookie.ts';
import { signInPath } from '../pages/returnTo.ts';
import { formOf } from '../pages/serve.ts';
import { answerAddress, type Asker, type Authorization, readAsker, readAuthorization } from './authorization.ts';
import { sendConsentPage, sendMistakePage, sendReturnPage, sendUnknownClientPage } from './consent.tsx';

/** `GET /authorize`: asks the person who is signed in, after they have, whether a client may act for them. */
export async function ask(ctx: Context): Promise<void> {
  // First of all: a stranger is not to have addresses asked for, nor anybody sent to where they like.
  if (ctx.state.caller === undefined) return signInFirst(ctx);
  const authorization = await authorizationOf(ctx);
  if (authorization === undefined) return;
  if (authorization.prompts.includes('none')) {
    const sentence = 'The person is asked every time, since anybody could call itself this client.';
    return sendRefusal(ctx, authorization, new OAuthRefusal('consent_required', sentence));
  }
  const account = await accountById(callerOf(ctx).accountId);
  await noteApprovalRequest(authorization.client);
  sendConsentPage(ctx, authorization, account);
}

/** `POST /authorize`: the person's answer, by the form of our own page. */
export async function decide(ctx: Context): Promise<void> {
  // The session has ended while the page was open.
  if (ctx.state.caller === undefined) return signInFirst(ctx);
  const authorization = await authorizationOf(ctx);
  if (authorization === undefined) return;
  const decision = formOf(ctx).get('decision');
  if (decision === 'switch') {
    await endOwnSession(ctx);
    return signInFirst(ctx);
  }
  if (decision === 'deny') {
    return sendAnswer(ctx, authorization, refused(new OAuthRefusal('access_denied', 'The person did not allow it.')));
  }
  if (decision !== 'allow')
    throw new ServiceError('validation_error', 'No decision was submitted. Go back and choose Allow or Deny.');
  const { client, scopes, redirectUri, codeChallenge } = authorization;
  const { accountId } = callerOf(ctx);
  const approval = { accountId, clientId: client.client_id, scopes, redirectUri, codeChallenge };
  const code = await approve(approval).catch((error: unknown) => tellThePerson(ctx, error));
  if (code === undefined) return;
  await audit(ctx, 'grant_given', accountId, { client: client.client_id, scopes });
  sendAnswer(ctx, authorization, { code });
}

/** What is asked for, in the address; undefined where that was wrong, and has been answered. */
async function authorizationOf(ctx: Context): Promise<Authorization | undefined> {
  const sent = new URLSearchParams(ctx.querystring);
  const asker = await readAsker(sent, ctx.state.caller?.accountId).catch((error: unknown) => tellThePerson(ctx, error));
  if (asker === undefined) return undefined;
  try {
    return readAuthorization(asker, sent);
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error;
    sendRefusal(ctx, asker, error);
    return undefined;
  }
}

/** Answers with a page where the client has no address that could be trusted with the error. */
function tellThePerson(ctx: Context, error: unknown): undefined {
  if (!(error instanceof OAuthRefusal)) throw error;
  sendUnknownClientPage(ctx, error);
}

function refused({ code, message }: OAuthRefusal): Record<string, string> {
  return { error: code, error_description: message };
}

/**
 * Tells the client what is wrong with its question. Anybody can register an address, and have us send people there: by
 * itself a browser goes only to a loopback address, where any page could send it. For https and the schemes of
 * applications people are asked first (RFC 9700, 4.11.2).
 */
function sendRefusal(ctx: Context, asker: Asker, refusal: OAuthRefusal): void {
  const address = answerAddress(asker, refused(refusal));
  if (isLoopback(asker.redirectUri)) return sendTo(ctx, address);
  sendMistakePage(ctx, asker, refusal.message, address);
}

/**
 * Sends the person back to the client, with our answer to what they decided. By a page of its own: browsers hold every
 * redirect that follows upon a form against the page with the form, and one to an application's scheme leaves the page
 * before it standing, with its buttons.
 */
function sendAnswer(ctx: Context, asker: Asker, answer: Record<string, string>): void {
  sendReturnPage(ctx, asker, answerAddress(asker, answer), 'code' in answer);
}

/** Nobody is answered for who has not signed in; afterwards they come back to the same question. */
function signInFirst(ctx: Context): void {
  sendTo(ctx, signInPath(`/authorize?${ctx.querystring}`));
}

/** As it is written: the address has been checked, and is not to be spelled anew. */
function sendTo(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  // What the address carries is for its reader alone.
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('location', address);
  ctx.body = '';
}
