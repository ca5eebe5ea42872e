import { GenmeterError, type GenmeterOptions } from '@genmeter/client';
import {
  readCredentials,
  requireWritable,
  type Tokens,
  withCredentialsLock,
  writeCredentials,
} from '../credentials.ts';
import { printWarning } from '../output.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';
import { OAuthError, refresh } from './server.ts';

/** Time before the expiry at which a token is replaced, so that it is valid when the request arrives. */
const EXPIRY_MARGIN_MS = 60_000;

/**
 * Creates a function that returns a valid access token of the stored sign-in, refreshed if necessary. The file is read
 * each time, since another process may have replaced the tokens. The function takes a token that the service has
 * rejected. It throws a GenmeterError, with the CommandError as its cause if there is no valid token.
 */
export function createTokenSource(terminal: Terminal, url: string): NonNullable<GenmeterOptions['getToken']> {
  const { env } = terminal;
  /** Tokens of this process that could not be stored, and the refresh token in the file that they replace. */
  let unstored: { replaced: string; tokens: Tokens } | undefined;
  const choose = (stored: Tokens) => (stored.refreshToken === unstored?.replaced ? unstored.tokens : stored);

  const findToken = async (rejected: string | undefined, signal: AbortSignal): Promise<string> => {
    const isUsable = ({ accessToken, expiresAt }: Tokens) =>
      accessToken !== rejected && expiresAt > Date.now() + EXPIRY_MARGIN_MS;
    const present = choose(readTokens(env, url));
    if (isUsable(present)) return present.accessToken;
    return withCredentialsLock(env, signal, async () => {
      const stored = readTokens(env, url);
      const last = choose(stored);
      if (isUsable(last)) return last.accessToken;
      // A refresh token can be used once: the sign-in would end with the loss of the next one. For the same reason the
      // signal does not end the refresh.
      if (last === stored) requireWritable(env);
      const tokens = await refresh(last, url).catch(toCommandError);
      try {
        writeCredentials(env, { url, tokens });
      } catch (error) {
        unstored = { replaced: stored.refreshToken, tokens };
        const advice = 'Run genmeter login before the next command.';
        printWarning(terminal, `The refreshed sign-in could not be stored. ${(error as Error).message} ${advice}`);
      }
      return tokens.accessToken;
    });
  };
  return (rejected, signal) => findToken(rejected, signal).catch(toFinalError);
}

/** Makes the client end the request with the error of a command, instead of requesting the token again. */
function toFinalError(error: unknown): never {
  if (!(error instanceof CommandError)) throw error;
  throw new GenmeterError({ error: 'invalid_api_key', detail: error.message, cause: error });
}

function readTokens(env: Terminal['env'], url: string): Tokens {
  const stored = readCredentials(env);
  if (stored !== undefined && stored.url === url && 'tokens' in stored) return stored.tokens;
  throw new CommandError(EXIT.notSignedIn, 'not_signed_in', 'The sign-in was ended meanwhile. Run genmeter login.');
}

function toCommandError(error: unknown): never {
  if (!(error instanceof OAuthError)) throw error;
  if (error.code === 'invalid_grant') {
    const detail = `The sign-in has ended. ${error.message} Run genmeter login.`;
    throw new CommandError(EXIT.notSignedIn, 'not_signed_in', detail);
  }
  const detail = `The sign-in could not be refreshed. ${error.message} Try again in a minute.`;
  throw new CommandError(EXIT.temporary, error.code, detail);
}
