import pLimit from 'p-limit';
import type { Dispatcher } from 'undici';
import { tryParseBoundedJson } from '../lib/boundedJson.ts';
import { config } from '../lib/config.ts';
import { perService } from '../lib/serviceScope.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../spec/durations.ts';
import { CLIENT_DOCUMENT_TIMEOUT_MS, isLocalHost, selectClientDocumentAgent } from './clientDocumentConnections.ts';
import { canParseUrl } from '../lib/canParseUrl.ts';
import { getContent, type HttpResponse, readBounded, sendRequest } from './httpClient.ts';

const DOCUMENT_MAX_BYTES = 5 * 1024;
/** Bounds for the cache lifetime in the headers of a document, and the lifetime without one. */
const CACHE_LIFETIME_MS = { min: 5 * MINUTE_MS, fallback: HOUR_MS, max: DAY_MS } as const;

/**
 * A metadata document that cannot be fetched or used. The message completes a sentence that starts with its address.
 */
export class InvalidMetadataError extends Error {
  /** True if the document, or its host, could not be reached. */
  readonly isUnreachable: boolean;
  /** True if this says nothing about the document, as its host may serve it later, or to others. */
  readonly isTemporary: boolean;

  constructor(message: string, { isUnreachable = false, isTemporary = false } = {}) {
    super(message);
    this.isUnreachable = isUnreachable;
    this.isTemporary = isTemporary || isUnreachable;
  }
}

export interface ClientMetadataDocument {
  /** Parsed JSON, not validated. */
  metadata: Record<string, unknown>;
  /** Time that the document may be cached, in milliseconds. */
  cacheLifetimeMs: number;
}

/** Returns the one host that may have a private address and serve plain http: a fake on a developer's machine. */
const getTrustedHost = () => config.OAUTH_CLIENT_DOCUMENT_HOST;

/**
 * Bounds on fetches, because clients choose the address: those in progress, and those that wait for one of these to
 * end.
 */
const CONCURRENT_FETCHES_MAX = 8;
const WAITING_FETCHES_MAX = 32;

const slots = perService(() => pLimit(CONCURRENT_FETCHES_MAX));

/** Returns true if a client id is the address of a metadata document. */
export function isMetadataDocumentUrl(clientId: string): boolean {
  if (!/^https?:\/\//.test(clientId) || !canParseUrl(clientId)) return false;
  const url = new URL(clientId);
  // Only the canonical form: no dot segments, no capitals in the host, no fragment, no credentials.
  if (url.href !== clientId || url.hash !== '' || url.username !== '' || url.password !== '') return false;
  return url.pathname !== '/' && (url.protocol === 'https:' || url.host === getTrustedHost());
}

/**
 * Fetches the metadata document of a client from a public address, without redirects, within limits of size
 * and time. Of too many, those that came first go first, so that slow hosts delay others and do not keep them out.
 * @throws InvalidMetadataError
 */
export async function fetchClientMetadataDocument(address: string): Promise<ClientMetadataDocument> {
  if (slots().pendingCount >= WAITING_FETCHES_MAX)
    throw new InvalidMetadataError('cannot be fetched now: too many fetches are in progress', { isTemporary: true });
  return slots()(() => fetchDocument(address));
}

async function fetchDocument(address: string): Promise<ClientMetadataDocument> {
  const dispatcher = selectMetadataDispatcher(new URL(address));
  const signal = AbortSignal.timeout(CLIENT_DOCUMENT_TIMEOUT_MS);
  try {
    const response = await sendRequest(address, { dispatcher, signal, headers: { accept: 'application/json' } });
    const text = await readJsonText(response);
    return {
      metadata: parseJsonObject(text),
      cacheLifetimeMs: parseCacheLifetimeMs(response.headers['cache-control']),
    };
  } catch (error) {
    throw error instanceof InvalidMetadataError ? error : describeFetchError(error as Error & { code?: string });
  }
}

function selectMetadataDispatcher({ host, hostname }: URL): Dispatcher {
  const isTrusted = host === getTrustedHost();
  if (!isTrusted && isLocalHost(hostname)) throw new InvalidMetadataError('is at a private address');
  return selectClientDocumentAgent(isTrusted);
}

async function readJsonText(response: HttpResponse): Promise<string> {
  const { statusCode, headers } = response;
  const type = String(headers['content-type'] ?? '');
  const problem =
    statusCode !== 200
      ? `responded with ${statusCode} instead of 200`
      : /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)
        ? undefined
        : 'is not of the type application/json';
  const isGone = statusCode === 404 || statusCode === 410;
  const maxBytes = problem === undefined ? DOCUMENT_MAX_BYTES : 0;
  const content = await readBounded(
    getContent(response),
    maxBytes,
    () =>
      new InvalidMetadataError(problem ?? `has more than ${DOCUMENT_MAX_BYTES} bytes`, {
        isTemporary: problem !== undefined && !isGone,
      }),
  );
  // A host that removes a document says so. Others, such as firewalls, answer with an error or a page of their own.
  if (problem !== undefined) throw new InvalidMetadataError(problem, { isTemporary: !isGone });
  return content.toString();
}

function parseJsonObject(text: string): Record<string, unknown> {
  const value = tryParseBoundedJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new InvalidMetadataError('is not a JSON object');
}

/** Reads the lifetime from Cache-Control, within bounds that prevent both constant fetching and endless caching. */
function parseCacheLifetimeMs(cacheControl: string | string[] | undefined): number {
  const { min, fallback, max } = CACHE_LIFETIME_MS;
  const directives = String(cacheControl ?? '').toLowerCase();
  if (/no-store|no-cache/.test(directives)) return min;
  const seconds = /max-age="?(\d{1,9})/.exec(directives)?.[1];
  return seconds === undefined ? fallback : Math.min(max, Math.max(min, Number(seconds) * 1_000));
}

function describeFetchError(error: Error & { code?: string }): InvalidMetadataError {
  if (error.code === 'EPRIVATE') return new InvalidMetadataError('is at a private address');
  const isLate = error.name === 'TimeoutError';
  const problem = isLate ? `did not come within ${CLIENT_DOCUMENT_TIMEOUT_MS / 1_000} s` : 'cannot be reached';
  return new InvalidMetadataError(problem, { isUnreachable: true });
}
