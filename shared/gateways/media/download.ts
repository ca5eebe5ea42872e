import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import pRetry from 'p-retry';
import { Agent, type Dispatcher } from 'undici';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { isPrivateAddress, lookupPublicAddress, resolvePublicAddress } from '../../lib/ssrfGuard.ts';
import { getContent, sendRequest } from '../httpClient.ts';
import { RETRYABLE_STATUSES } from './retryableStatuses.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/** An output, or an image of a customer, that can never be stored: missing, of the wrong type, or too large. */
export class InvalidOutputError extends Error {}

/** An output that is not there, or not yet: content delivery networks show a new file after some seconds. */
class MissingOutputError extends InvalidOutputError {}

/** A local file that cannot be read or written, for example because the disk is full. The source is not at fault. */
export class LocalFileError extends Error {}

/** Size that a download counts with until its length is known. */
export const UNANNOUNCED_BYTES = 1024 * 1024;

/** There is no space for a file of this size now. */
export class NoSpaceError extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`There is no local space for ${bytes} bytes now.`);
    this.bytes = bytes;
  }
}

/** Addresses that an upstream's outputs may have besides public ones. */
export interface DownloadPolicy {
  /** Host and port of the upstream, which may be private. */
  upstreamHost: string;
  /** True for an upstream in our own network. */
  allowsPrivateAddresses: boolean;
  /** True for an address that a customer chose. It must be https, unless private addresses are allowed. */
  isCustomers?: boolean;
}

export interface DownloadLimits {
  maxBytes: number;
  /** Limit for the whole download, including redirects. */
  timeoutMs: number;
  /** Limit for the time between two chunks. */
  idleMs: number;
  /** Delay before an output that is missing is requested again, twice as long after each request. */
  missingDelayMs: number;
  /** Requests after the first one for an output that is missing. An address of a customer is requested once. */
  missingRetries: number;
  /** Claims space for the announced length, and for more if it is exceeded. Returns false if there is none. */
  resize: ((bytes: number) => boolean) | undefined;
}

const getDefaultLimits = (): DownloadLimits => ({
  maxBytes: config.MEDIA_MAX_BYTES,
  timeoutMs: 120_000,
  idleMs: 15_000,
  missingDelayMs: 250,
  missingRetries: 7,
  resize: undefined,
});

const REDIRECTS_MAX = 3;

/** Customers' images are fetched while a request waits. */
const CUSTOMER_CONNECTIONS_PER_ORIGIN = 4;
const CUSTOMER_CONNECT_TIMEOUT_MS = 3_000;

const agents = perService(
  () => ({
    // Several upstreams may have their files on one host, so that only their slots bound the downloads from it.
    unrestrictedAgent: new Agent(),
    publicAgent: new Agent({ connect: { lookup: lookupPublicAddress } }),
    customerAgent: new Agent({
      connections: CUSTOMER_CONNECTIONS_PER_ORIGIN,
      connect: { lookup: resolvePublicAddress, timeout: CUSTOMER_CONNECT_TIMEOUT_MS },
    }),
  }),
  (open) => Promise.all(Object.values(open).map((agent) => agent.destroy())),
);

/**
 * Streams a source to a local file, within limits of size and time. Private addresses are rejected unless the policy
 * allows them. Headers are sent to the host of the first address only. A `data:` address is decoded. After an error the
 * file may contain a part of the source.
 * @throws InvalidOutputError if a retry would not help; LocalFileError or any other error if it may.
 */
export async function download(
  source: DownloadSource,
  policy: DownloadPolicy,
  localFile: string,
  limits: Partial<DownloadLimits> = {},
): Promise<void> {
  const { chunks, incoming } = openSource(source, policy, limits);
  await writeChunks(chunks, localFile, incoming);
}

/**
 * Downloads a small source to memory, and any other one to a new local file. Rules and errors are those of
 * {@link download}.
 * @param memoryMaxBytes largest size in memory. The length need not be announced, and one that is wrong has no effect.
 */
export async function downloadContent(
  source: DownloadSource,
  policy: DownloadPolicy,
  memoryMaxBytes: number,
  newFile: () => Promise<string>,
  limits: Partial<DownloadLimits> = {},
): Promise<{ data: Buffer } | { localFile: string }> {
  const { chunks, incoming } = openSource(source, policy, limits);
  const start: Buffer[] = [];
  try {
    let bytes = 0;
    while (Math.max(bytes, incoming.announcedBytes) <= memoryMaxBytes) {
      const next = await chunks.next();
      if (next.done === true) return { data: Buffer.concat(start) };
      start.push(next.value);
      bytes += next.value.length;
    }
    const localFile = await newFile();
    await writeChunks(continueWith(start, chunks), localFile, incoming);
    return { localFile };
  } finally {
    // Closes the connection if the file could not be opened.
    await chunks.return(undefined);
  }
}

/** An address, with optional headers for its own host only. */
export interface DownloadSource {
  url: string;
  headers?: Record<string, string>;
}

/** A source while it is downloaded. */
interface IncomingSource {
  /** Length by the response's headers, which may be wrong. 0 until they have arrived, and if they have none. */
  announcedBytes: number;
  signal: AbortSignal;
  /** Error of the source, as opposed to those of the local file. */
  error?: unknown;
}

/** @returns the chunks, of limited total size. The request is sent when the first one is read. */
function openSource(source: DownloadSource, policy: DownloadPolicy, limits: Partial<DownloadLimits>) {
  const allLimits = { ...getDefaultLimits(), ...limits };
  const incoming: IncomingSource = { announcedBytes: 0, signal: AbortSignal.timeout(allLimits.timeoutMs) };
  const chunks = readSource(source, policy, allLimits, incoming);
  return { chunks: limitChunks(chunks, policy, allLimits, incoming), incoming };
}

async function* readSource(
  { url, headers }: DownloadSource,
  policy: DownloadPolicy,
  { idleMs, maxBytes, missingDelayMs, missingRetries }: DownloadLimits,
  incoming: IncomingSource,
): AsyncGenerator<Buffer, void> {
  if (/^data:/i.test(url)) return yield* decodeDataUrl(url);
  const options = { headers, signal: incoming.signal, headersTimeout: idleMs, bodyTimeout: idleMs };
  const { body, announcedBytes } = await pRetry(() => openDownload(url, policy, options, maxBytes), {
    retries: policy.isCustomers === true ? 0 : missingRetries,
    minTimeout: missingDelayMs,
    signal: incoming.signal,
    shouldRetry: ({ error }) => error instanceof MissingOutputError,
  });
  incoming.announcedBytes = announcedBytes;
  yield* body as AsyncIterable<Buffer>;
}

async function* limitChunks(
  chunks: AsyncIterable<Buffer>,
  policy: DownloadPolicy,
  { maxBytes, resize }: DownloadLimits,
  incoming: IncomingSource,
): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  let space = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLargeError(maxBytes, getName(policy));
      if (space === 0 || bytes > space) {
        const isExpected = space === 0 && bytes <= incoming.announcedBytes;
        space = isExpected ? incoming.announcedBytes : Math.max(UNANNOUNCED_BYTES, Math.min(2 * bytes, maxBytes));
        if (resize?.(space) === false) throw new NoSpaceError(space);
      }
      yield chunk;
    }
  } catch (error) {
    incoming.error = error;
    throw error;
  }
}

async function writeChunks(chunks: AsyncIterable<Buffer>, localFile: string, incoming: IncomingSource): Promise<void> {
  const { signal } = incoming;
  try {
    await writeFile(localFile, chunks, { signal, flush: true });
  } catch (error) {
    if (error === incoming.error || signal.aborted) throw error;
    throw new LocalFileError('The file could not be written.', { cause: error });
  }
}

async function* continueWith(start: Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // Removed from the array, so that what is written does not stay in memory.
  for (let chunk = start.shift(); chunk !== undefined; chunk = start.shift()) yield chunk;
  yield* rest;
}

type DownloadRequestOptions = Pick<Dispatcher.RequestOptions, 'headersTimeout' | 'bodyTimeout'> & {
  headers?: Record<string, string>;
  signal: AbortSignal;
};

/** Follows redirects to the output. */
async function openDownload(
  url: string,
  policy: DownloadPolicy,
  { headers, signal, headersTimeout, bodyTimeout }: DownloadRequestOptions,
  maxBytes: number,
): Promise<{ body: Readable; announcedBytes: number }> {
  const name = getName(policy);
  let address = url;
  let leftOrigin = false;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const dispatcher = selectDispatcher(address, policy);
    // After a redirect to another origin the headers are never sent again, not even to the first origin.
    leftOrigin ||= new URL(address).origin !== new URL(url).origin;
    const response = await sendRequest(address, {
      signal,
      headersTimeout,
      bodyTimeout,
      dispatcher,
      headers: leftOrigin ? undefined : headers,
    }).catch((error: Error & { code?: string }) => {
      throw error.code === 'EPRIVATE' ? privateAddressError(name) : error;
    });
    const { statusCode, body } = response;
    const announcedBytes = Number(response.headers['content-length'] ?? 0);
    const isTooLarge = announcedBytes > maxBytes;
    if (statusCode === 200 && !isTooLarge) return { body: getContent(response), announcedBytes };
    await body.dump({ signal, limit: 16_384 });
    if (statusCode === 200) throw tooLargeError(maxBytes, name);
    const location = response.headers['location'];
    if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string') throw toStatusError(statusCode, name);
    address = canParseUrl(location, address) ? new URL(location, address).href : location;
  }
  throw new InvalidOutputError(`The ${name} has too many redirects.`);
}

/** Statuses of stores for a file that is not there; those that do not list their files respond with 403. */
const MISSING_STATUSES = [401, 403, 404];

function toStatusError(statusCode: number, name: string): Error {
  const message = `The ${name}'s address returned status ${statusCode}.`;
  if (MISSING_STATUSES.includes(statusCode)) return new MissingOutputError(message);
  const isRetryable = statusCode >= 500 || RETRYABLE_STATUSES.includes(statusCode);
  return isRetryable ? new Error(message) : new InvalidOutputError(message);
}

function selectDispatcher(address: string, policy: DownloadPolicy): Dispatcher {
  const { upstreamHost, allowsPrivateAddresses, isCustomers = false } = policy;
  const name = getName(policy);
  const url = canParseUrl(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidOutputError(`The ${name} has no usable address.`);
  if (isCustomers && url.protocol !== 'https:' && !allowsPrivateAddresses)
    throw new InvalidOutputError('The address does not begin with https://.');
  if (url.host === upstreamHost || allowsPrivateAddresses) return agents().unrestrictedAgent;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw privateAddressError(name);
  return isCustomers ? agents().customerAgent : agents().publicAgent;
}

function privateAddressError(name: string): InvalidOutputError {
  return new InvalidOutputError(`The ${name} is at a private address.`);
}

/** Returns what error messages call the file. */
function getName({ isCustomers = false }: DownloadPolicy): string {
  return isCustomers ? 'image' : 'output';
}

/** Error for a file that is larger than allowed. */
export function tooLargeError(maxBytes: number, name = 'output'): InvalidOutputError {
  return new InvalidOutputError(`The ${name} is larger than ${maxBytes} bytes.`);
}

const CHUNK_CHARACTERS = 64 * 1024;

/** Decodes in chunks, so that a large output is not in memory twice. */
function* decodeDataUrl(url: string): Generator<Buffer> {
  const start = url.indexOf(',') + 1;
  if (!/;base64,$/i.test(url.slice(0, start))) throw new InvalidOutputError('The output is not valid base64 data.');
  let rest = '';
  for (let at = start; at < url.length; at += CHUNK_CHARACTERS) {
    const chunk = rest + url.slice(at, at + CHUNK_CHARACTERS).replaceAll(/\s/g, '');
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(chunk)) throw new InvalidOutputError('The output is not valid base64 data.');
    const whole = chunk.length - (chunk.length % 4);
    yield Buffer.from(chunk.slice(0, whole), 'base64');
    rest = chunk.slice(whole);
  }
  yield Buffer.from(rest, 'base64');
}
