import { Genmeter, type GenmeterOptions } from '@genmeter/client';
import { readCredentials } from './credentials.ts';
import { createTokenSource } from './oauth/accessToken.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

/** Credential of a command: an API key, or the sign-in through the browser. */
type Access = { key: string } | 'browser' | undefined;

/** The service and the access that a command uses: from the environment, otherwise from the last login. */
function findAccess({ env }: Terminal): { url: string; access: Access } {
  // Addresses are stored without a slash at the end.
  const urlSetting = env['GENMETER_URL']?.replace(/\/+$/, '') || undefined;
  const key = env['GENMETER_KEY'] || undefined;
  if (urlSetting !== undefined && key !== undefined) return { url: urlSetting, access: { key } };
  const stored = readCredentials(env);
  const url = urlSetting ?? stored?.url;
  if (url === undefined) {
    throw new CommandError(
      EXIT.notSignedIn,
      'not_signed_in',
      'Not signed in. Set GENMETER_URL and GENMETER_KEY, or run: genmeter login --url ADDRESS',
    );
  }
  if (key !== undefined) return { url, access: { key } };
  // Stored credentials belong to the stored address and are not sent to another one.
  if (stored === undefined || url !== stored.url) return { url, access: undefined };
  return { url, access: 'key' in stored ? { key: stored.key } : 'browser' };
}

/** Returns the address of the service. */
export const findServiceUrl = (terminal: Terminal): string => findAccess(terminal).url;

/** Opens a client for commands that need an account. */
export function openClient(terminal: Terminal): Genmeter {
  const { url, access } = findAccess(terminal);
  if (access === undefined) {
    throw new CommandError(
      EXIT.notSignedIn,
      'not_signed_in',
      `There is no sign-in for ${url} yet. Set GENMETER_KEY, or run: genmeter login --url ${url}`,
    );
  }
  if (access !== 'browser') return createClient(url, access);
  return createClient(url, { getToken: createTokenSource(terminal, url) });
}

/** Opens a client for commands that need no account. */
export function openPublicClient(terminal: Terminal): Genmeter {
  const { url, access } = findAccess(terminal);
  return createClient(url, typeof access === 'object' ? access : {});
}

/** Creates a client. @throws CommandError for an address or key that cannot be one. */
export function createClient(url: string, access: Pick<GenmeterOptions, 'key' | 'getToken'>): Genmeter {
  try {
    return new Genmeter({ baseUrl: url, ...access });
  } catch (error) {
    const detail = (error as Error).message
      .replace(/^baseUrl must be the address of the service/, 'The address of the service must be a URL')
      .replace(/^baseUrl/, 'The address of the service')
      .replace(/^key/, 'The key');
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
}
