import { Genmeter } from '@genmeter/client';
import { readCredentials } from './credentials.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

/** The service and the API key that a command uses: from the environment, otherwise from the last login. */
export function findCredentials({ env }: Terminal): { url: string; key: string | undefined } {
  const [urlSetting, keySetting] = [env['GENMETER_URL'] || undefined, env['GENMETER_KEY'] || undefined];
  const stored = readCredentials(env);
  const url = urlSetting ?? stored?.url;
  if (url === undefined) {
    throw new CommandError(
      EXIT.notSignedIn,
      'not_signed_in',
      'Run genmeter login, or set GENMETER_URL and GENMETER_KEY.',
    );
  }
  // The stored key belongs to the stored address and is not sent to another one.
  return { url, key: keySetting ?? (url === stored?.url ? stored.key : undefined) };
}

/** Opens a client for commands that need an account. */
export function openClient(terminal: Terminal): Genmeter {
  const { url, key } = findCredentials(terminal);
  if (key === undefined) {
    throw new CommandError(
      EXIT.notSignedIn,
      'not_signed_in',
      `There is no API key for ${url}. Run genmeter login --url ${url}, or set GENMETER_KEY.`,
    );
  }
  return createClient(url, key);
}

/** Opens a client for commands that need no account. */
export function openPublicClient(terminal: Terminal): Genmeter {
  const { url, key } = findCredentials(terminal);
  return createClient(url, key);
}

/** Creates a client. @throws CommandError for an address or key that cannot be one. */
export function createClient(url: string, key: string | undefined): Genmeter {
  try {
    return new Genmeter({ baseUrl: url, key });
  } catch (error) {
    const detail = (error as Error).message.replace(/^baseUrl/, 'The address').replace(/^key/, 'The key');
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
}
