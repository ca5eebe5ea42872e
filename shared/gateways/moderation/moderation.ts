import pRetry from 'p-retry';
import { Agent } from 'undici';
import { tryParseBoundedJson } from '../../lib/boundedJson.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import type { ModelKind } from '../../spec/catalog.ts';
import { readText, sendRequest } from '../httpClient.ts';

/** An image that a generation starts from. */
export interface ModerationInput {
  role: string;
  url: string;
}

/** The content of a create, as the operator's moderation service receives it (docs/moderation.md). */
export interface ModerationRequest {
  /** UUID of the account. */
  account: string;
  model: string;
  kind: ModelKind;
  prompt: string;
  params: object;
  inputs: readonly ModerationInput[];
}

export type ModerationVerdict = { isAllowed: true } | { isAllowed: false; reason: string };

/** The moderation service did not decide. */
export class ModerationError extends Error {}

/** Upper bound for a response, which is one small object. */
const RESPONSE_MAX_BYTES = 64 * 1024;
const REASON_MAX_CHARACTERS = 500;
const DEFAULT_REASON = 'The content is not allowed.';
/** Connections of a process. Further requests wait for one within their time limit. */
const CONNECTIONS_MAX = 64;
/** The service may close a kept connection at the moment at which it is used. A second attempt opens another one. */
const RESET_CODES = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

const agent = perService(
  () =>
    new Agent({
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      // The signal of each request limits the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: config.MODERATION_TIMEOUT_MS },
    }),
  (open) => open.destroy(),
);

export function isModerationEnabled(): boolean {
  return config.MODERATION_URL !== undefined;
}

/**
 * Asks the moderation service whether content may be generated, within MODERATION_TIMEOUT_MS and without redirects.
 * @throws ModerationError if it does not decide; the message says why.
 */
export async function requestVerdict(content: ModerationRequest): Promise<ModerationVerdict> {
  const signal = AbortSignal.timeout(config.MODERATION_TIMEOUT_MS);
  const body = JSON.stringify(content);
  try {
    const text = await pRetry(() => send(body, signal), {
      retries: 1,
      minTimeout: 0,
      shouldRetry: ({ error }) => !signal.aborted && RESET_CODES.test((error as NodeJS.ErrnoException).code ?? ''),
    });
    return parseVerdict(text);
  } catch (error) {
    if (error instanceof ModerationError) throw error;
    if (signal.aborted) throw new ModerationError(`no response within ${config.MODERATION_TIMEOUT_MS} ms`);
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new ModerationError(message || code);
  }
}

/** Sends a request and returns the body of its response, which must have the status 200. */
async function send(body: string, signal: AbortSignal): Promise<string> {
  const { MODERATION_URL: url = '', MODERATION_TOKEN: token } = config;
  const response = await sendRequest(url, {
    method: 'POST',
    dispatcher: agent(),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
    signal,
  });
  const text = await readText(response, RESPONSE_MAX_BYTES);
  if (response.statusCode !== 200) throw new ModerationError(`responded with ${response.statusCode} instead of 200`);
  return text;
}

function parseVerdict(text: string): ModerationVerdict {
  const verdict = tryParseBoundedJson(text) as { allow?: unknown; reason?: unknown } | null | undefined;
  if (verdict?.allow === true) return { isAllowed: true };
  if (verdict?.allow === false) return { isAllowed: false, reason: toSentence(verdict.reason) };
  throw new ModerationError('the response is not an object with "allow": true or false');
}

/** Returns the reason on one line, with a limited length and a full stop. A denial counts without a reason, too. */
function toSentence(reason: unknown): string {
  const text = typeof reason === 'string' ? reason.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim() : '';
  if (text === '') return DEFAULT_REASON;
  const short = text.slice(0, REASON_MAX_CHARACTERS).toWellFormed();
  return /[.!?\u2026]$/.test(short) ? short : `${short}.`;
}
