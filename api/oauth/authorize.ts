import { accountById } from '../../shared/domain/accounts.ts';
import { approve } from '../../shared/domain/oauth/codes.ts';
import { redirectTarget } from '../../shared/domain/oauth/redirects.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { OAuthRefusal } from '../../shared/spec/oauth.ts';
import { callerOf, type Context } from '../context.ts';
import { endOwnSession } from '../middleware/sessionCookie.ts';
import { signInPath } from '../pages/returnTo.ts';
import { sendOnward } from '../pages/onward.tsx';
import { formOf } from '../pages/serve.ts';
import { answerAddress, type Asker, type Authorization, readAsker, readAuthorization } from './authorization.ts';
import { sendConsentPage } from './consent.tsx';

/** `GET /authorize`: asks the person who is signed in, after they have, whether a client may act for them. */
export async function ask(ctx: Context): Promise<void> {
  const authorization = await authorizationOf(ctx);
  if (authorization === undefined) return;
  const isSignedIn = ctx.state.caller !== undefined;
  if (authorization.prompts.includes('none')) {
    const refusal = isSignedIn
      ? new OAuthRefusal(
          'consent_required',
          'The person is asked every time, since anybody could call itself this client.',
        )
      : new OAuthRefusal('login_required', 'Nobody is signed in.');
    return sendAnswer(ctx, authorization, refused(refusal));
  }
  if (!isSignedIn) return signInFirst(ctx);
  const { email } = await accountById(callerOf(ctx).accountId);
  sendConsentPage(ctx, authorization, email);
}

/** `POST /authorize`: the person's answer, by the form of our own page. */
export async function decide(ctx: Context): Promise<void> {
  const authorization = await authorizationOf(ctx);
  if (authorization === undefined) return;
  // The session has ended while the page was open.
  if (ctx.state.caller === undefined) return signInFirst(ctx);
  const decision = formOf(ctx).get('decision');
  if (decision === 'switch') {
    await endOwnSession(ctx);
    return signInFirst(ctx);
  }
  if (decision === 'deny') {
    return sendAnswer(ctx, authorization, refused(new OAuthRefusal('access_denied', 'The person did not allow it.')));
  }
  if (decision !== 'allow') throw new ServiceError('validation_error', 'Say whether to allow it: go back and choose.');
  const { client, scopes, redirectUri, codeChallenge } = authorization;
  const { accountId } = callerOf(ctx);
  const code = await approve({ accountId, clientId: client.client_id, scopes, redirectUri, codeChallenge });
  sendAnswer(ctx, authorization, { code });
}

/** What is asked for, in the address; undefined where that was wrong, and has been answered. */
async function authorizationOf(ctx: Context): Promise<Authorization | undefined> {
  const sent = new URLSearchParams(ctx.querystring);
  const asker = await readAsker(sent).catch((error: unknown) => {
    if (!(error instanceof OAuthRefusal)) throw error;
    const sentence = `The application that sent you here made a mistake. ${error.message}`;
    throw new ServiceError('validation_error', sentence);
  });
  try {
    return readAuthorization(asker, sent);
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error;
    sendAnswer(ctx, asker, refused(error));
    return undefined;
  }
}

function refused({ code, message }: OAuthRefusal): Record<string, string> {
  return { error: code, error_description: message };
}

/** Sends the person back to the client, with our answer. */
function sendAnswer(ctx: Context, asker: Asker, answer: Record<string, string>): void {
  const address = answerAddress(asker, answer);
  // No page's policy can name an IPv6 address, so that a browser would not follow its form there.
  if (ctx.method === 'POST' && redirectTarget(asker.redirectUri).includes('[')) {
    return sendOnward(ctx, address, 'Back to the application.');
  }
  sendTo(ctx, address);
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
