import { readCredentials, type Tokens, withCredentialsLock, writeCredentials } from '../credentials.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';
import { OAuthError, refresh } from './server.ts';

/** Time before the expiry at which a token is replaced, so that it is valid when the request arrives. */
const EXPIRY_MARGIN_MS = 60_000;

/**
 * Returns a valid access token of the stored sign-in, refreshed if necessary. The file is read each time, since another
 * process may have replaced the tokens.
 * @param rejected a token that the service has rejected.
 * @throws CommandError if the sign-in has ended.
 */
export async function getAccessToken({ env }: Terminal, url: string, rejected?: string): Promise<string> {
  const isUsable = ({ accessToken, expiresAt }: Tokens) =>
    accessToken !== rejected && expiresAt > Date.now() + EXPIRY_MARGIN_MS;
  const read = () => readTokens(env, url);
  const present = read();
  if (isUsable(present)) return present.accessToken;
  return withCredentialsLock(env, async () => {
    const stored = read();
    if (isUsable(stored)) return stored.accessToken;
    const tokens = await refresh(stored).catch(toSignedOutError);
    writeCredentials(env, { url, tokens });
    return tokens.accessToken;
  });
}

function readTokens(env: Terminal['env'], url: string): Tokens {
  const stored = readCredentials(env);
  if (stored !== undefined && stored.url === url && 'tokens' in stored) return stored.tokens;
  throw new CommandError(EXIT.notSignedIn, 'not_signed_in', 'The sign-in was ended meanwhile. Run genmeter login.');
}

function toSignedOutError(error: unknown): never {
  if (!(error instanceof OAuthError)) throw error;
  const detail = `The sign-in has ended. ${error.message} Run genmeter login.`;
  throw new CommandError(EXIT.notSignedIn, 'not_signed_in', detail);
}
