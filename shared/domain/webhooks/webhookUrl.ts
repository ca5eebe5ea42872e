import { isIP } from 'node:net';
import { config } from '../../lib/config.ts';
import { isPrivateAddress } from '../../lib/ssrfGuard.ts';
import { ServiceError } from '../../spec/errors.ts';
import { WEBHOOK_URL_MAX_CHARACTERS } from '../../spec/limits.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/**
 * Checks an address that is to receive webhooks, and returns it unchanged. Names are resolved and checked when a
 * delivery connects; here only what the address itself says is rejected.
 * @param field field of the request that the error names.
 * @throws ServiceError validation_error
 */
export function parseWebhookUrl(address: string, field = 'url'): string {
  const problem = findProblem(address);
  if (problem === undefined) return address;
  throw new ServiceError('validation_error', `${field} ${problem}.`, { field });
}

/** Returns the reason why an address cannot receive webhooks, as the end of a sentence; undefined if it can. */
function findProblem(address: string): string | undefined {
  if (address.length > WEBHOOK_URL_MAX_CHARACTERS) return `must have at most ${WEBHOOK_URL_MAX_CHARACTERS} characters`;
  if (/[\s\p{Cc}]/u.test(address) || !/^https?:\/\//i.test(address) || !canParseUrl(address))
    return 'must be an address such as https://example.com/webhooks';
  const url = new URL(address);
  if (url.protocol !== 'https:' && config.NODE_ENV === 'production') return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (address.includes('#')) return 'must not have a fragment';
  if (config.WEBHOOK_ADDRESSES === 'public' && !isPublicHost(url.hostname))
    return 'must have a public host: webhooks are not sent to private networks';
  return undefined;
}

/** Returns false for a private address and for names of this machine. Other names are not resolved here. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) !== 0) return !isPrivateAddress(host);
  return host !== 'localhost' && !host.endsWith('.localhost');
}
