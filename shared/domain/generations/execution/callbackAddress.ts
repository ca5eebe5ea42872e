import { decryptText, deriveKey, encryptText } from '../../../lib/encryption.ts';
import { getServerSecret } from '../../../lib/serverSecret.ts';
import { isUuid } from '../../../lib/uuid.ts';

/**
 * Address at which an upstream reports that a run has ended. Its token is encrypted and authenticated, so that it
 * cannot be guessed and reveals nothing, and no row has to be stored for it.
 */

/** Path below the address of the service. */
export const CALLBACK_PATH = '/upstream-events/';

/** The run that a call-back is about. */
export interface CallbackTarget {
  uuid: string;
  accountId: number;
  upstream: string;
  /** Time of the claim whose submit started the run: another submit of the same generation has another address. */
  submitStartedAt: Date;
}

/** Longest token: an upstream's name has no other limit. */
const TOKEN_MAX_CHARACTERS = 400;

const tokenKey = () => deriveKey(getServerSecret(), 'upstream call-back');

/** Builds the token of a run. */
export function buildCallbackToken({ uuid, accountId, upstream, submitStartedAt }: CallbackTarget): string {
  const text = [uuid, accountId, submitStartedAt.getTime(), upstream].join(' ');
  return encryptText(tokenKey(), text).toString('base64url');
}

/** Returns the run of a token; undefined if this service has not built it. */
export function parseCallbackToken(token: string): CallbackTarget | undefined {
  if (token.length > TOKEN_MAX_CHARACTERS || !/^[\w-]+$/.test(token)) return undefined;
  try {
    const [uuid = '', accountId, submittedAt, upstream = ''] = decryptText(
      tokenKey(),
      Buffer.from(token, 'base64url'),
    ).split(' ');
    if (!isUuid(uuid)) return undefined;
    return { uuid, accountId: Number(accountId), upstream, submitStartedAt: new Date(Number(submittedAt)) };
  } catch {
    return undefined;
  }
}
