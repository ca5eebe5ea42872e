import { createHash, randomBytes } from 'node:crypto';
import type { Tokens } from '../credentials.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';
import { openLoopback } from './loopback.ts';
import { CLIENT_ID, discover, exchangeCode, OAuthError } from './server.ts';

export interface SignInOptions {
  /** Address of the service. */
  url: string;
  mayOpenBrowser: boolean;
  timeoutMs: number;
}

/**
 * Signs in through the browser: the user approves the access of this program on a page of the service, which returns to
 * a port of this machine with a code (RFC 8252, with PKCE).
 */
export async function signIn(options: SignInOptions, terminal: Terminal): Promise<Tokens> {
  try {
    return await requestApproval(options, terminal);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    throw new CommandError(EXIT.failure, error.code, `The sign-in failed: ${error.message}`);
  }
}

async function requestApproval({ url, mayOpenBrowser, timeoutMs }: SignInOptions, terminal: Terminal): Promise<Tokens> {
  const server = await discover(url);
  const [state, verifier] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
  const loopback = await openLoopback(state);
  try {
    const { redirectUri } = loopback;
    const address = new URL(server.authorizationEndpoint);
    const parameters = {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: redirectUri,
      scope: 'svc:read svc:write',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: server.resource,
    };
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    const { href } = address;
    terminal.note(
      `${mayOpenBrowser ? 'Sign in with the browser' : 'Open this address in a browser of this machine'}:\n${href}`,
    );
    if (mayOpenBrowser) terminal.openBrowser(href);
    const redirect = await loopback.waitForRedirect(timeoutMs, terminal.signal);
    return await exchangeCode(server, { code: readCode(redirect, server.issuer), verifier, redirectUri });
  } finally {
    loopback.close();
  }
}

/** Returns the code of a redirect. @throws CommandError if the user or the server denied the access. */
function readCode(redirect: URLSearchParams, issuer: string): string {
  // RFC 9207: an answer of another server must not reach the token endpoint of this one.
  if (redirect.get('iss') !== issuer)
    throw new CommandError(
      EXIT.failure,
      'wrong_issuer',
      `The answer comes from another server than ${issuer} and was ignored. Nothing was stored.`,
    );
  const error = redirect.get('error');
  if (error === 'access_denied')
    throw new CommandError(EXIT.notSignedIn, error, 'The access was denied in the browser. Nothing was stored.');
  const code = redirect.get('code');
  if (error === null && code !== null) return code;
  throw new OAuthError(error ?? 'invalid_request', redirect.get('error_description') ?? 'The answer contains no code.');
}
