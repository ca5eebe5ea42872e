import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { isPrivateAddress, lookupPublicAddress, resolvePublicAddress } from '../../lib/ssrfGuard.ts';
import { RETRYABLE_STATUSES } from './retryableStatuses.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/** An output, or an image of a customer, that can never be stored: missing, of the wrong type, or too large. */
export class InvalidOutputError extends Error {}

/** A local file that cannot be written, for example because the disk is full. The source is not at fault. */
export class LocalFileError extends Error {}

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
}

const getDefaultLimits = (): DownloadLimits => ({
  maxBytes: config.MEDIA_MAX_BYTES,
  timeoutMs: 120_000,
  idleMs: 15_000,
});

/** Number of first bytes that are returned, enough to detect the format. */
export const HEAD_BYTES = 16;

const REDIRECTS_MAX = 3;

/** Customers' images are fetched while a request waits. */
const CUSTOMER_CONNECTIONS_PER_ORIGIN = 4;
const CUSTOMER_CONNECT_TIMEOUT_MS = 3_000;

const agents = perService(() => ({
  unrestrictedAgent: new Agent({ connections: config.UPSTREAM_CONCURRENCY }),
  publicAgent: new Agent({ connections: config.UPSTREAM_CONCURRENCY, connect: { lookup: lookupPublicAddress } }),
  customerAgent: new Agent({
    connections: CUSTOMER_CONNECTIONS_PER_ORIGIN,
    connect: { lookup: resolvePublicAddress, timeout: CUSTOMER_CONNECT_TIMEOUT_MS },
  }),
}));

/**
 * Streams an output to a local file, within limits of size and time. Private addresses are rejected unless the policy
 * allows them. Headers are sent to the host of the first address only. A `data:` address is decoded. After an error the
 * file may contain a part of the output.
 * @returns the first bytes, for format detection.
 * @throws InvalidOutputError if a retry would not help; LocalFileError or any other error if it may.
 */
export async function download(
  source: DownloadSource,
  policy: DownloadPolicy,
  localFile: string,
  limits: Partial<DownloadLimits> = {},
): Promise<Buffer> {
  const { maxBytes, timeoutMs, idleMs } = { ...getDefaultLimits(), ...limits };
  const signal = AbortSignal.timeout(timeoutMs);
  const options = { headers: source.headers, signal, headersTimeout: idleMs, bodyTimeout: idleMs };
  let head = Buffer.alloc(0);
  let bytes = 0;
  let sourceError: unknown;
  async function* pass(): AsyncGenerator<Buffer> {
    // Requested only once the file is open. The announced length may be missing or wrong, so bytes are counted.
    try {
      for await (const chunk of streamBytes(source.url, policy, options, maxBytes)) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw tooLargeError(maxBytes, getName(policy));
        if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
        yield chunk;
      }
    } catch (error) {
      sourceError = error;
      throw error;
    }
  }
  try {
    await writeFile(localFile, pass(), { signal, flush: true });
  } catch (error) {
    if (error === sourceError || signal.aborted) throw error;
    throw new LocalFileError('The file could not be written.', { cause: error });
  }
  return head;
}

interface DownloadSource {
  url: string;
  headers?: Record<string, string>;
}

async function* streamBytes(
  url: string,
  policy: DownloadPolicy,
  options: DownloadRequestOptions,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  if (/^data:/i.test(url)) yield* decodeDataUrl(url);
  else yield* (await openDownload(url, policy, options, maxBytes)) as AsyncIterable<Buffer>;
}

type DownloadRequestOptions = Pick<Dispatcher.RequestOptions, 'headersTimeout' | 'bodyTimeout'> & {
  headers?: Record<string, string>;
  signal: AbortSignal;
};

/** Follows redirects to the output. */
async function openDownload(
  url: string,
  policy: DownloadPolicy,
  { headers, ...options }: DownloadRequestOptions,
  maxBytes: number,
): Promise<Readable> {
  const name = getName(policy);
  let address = url;
  let leftOrigin = false;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const dispatcher = selectDispatcher(address, policy);
    // After a redirect to another origin the headers are never sent again, not even to the first origin.
    leftOrigin ||= new URL(address).origin !== new URL(url).origin;
    const response = await request(address, {
      ...options,
      dispatcher,
      headers: leftOrigin ? undefined : headers,
    }).catch((error: Error & { code?: string }) => {
      throw error.code === 'EPRIVATE' ? privateAddressError(name) : error;
    });
    const { statusCode, body } = response;
    const isTooLarge = Number(response.headers['content-length']) > maxBytes;
    if (statusCode === 200 && !isTooLarge) return body;
    await body.dump({ signal: options.signal, limit: 16_384 });
    if (statusCode === 200) throw tooLargeError(maxBytes, name);
    const location = response.headers['location'];
    if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string')
      throw toStatusError(statusCode, !leftOrigin && headers !== undefined, name);
    address = canParseUrl(location, address) ? new URL(location, address).href : location;
  }
  throw new InvalidOutputError(`The ${name} has too many redirects.`);
}

/** @param isAuthenticated true if the request carried our key, which may be corrected. */
function toStatusError(statusCode: number, isAuthenticated: boolean, name: string): Error {
  const message = `The ${name}'s address returned status ${statusCode}.`;
  const isRetryable =
    statusCode >= 500 ||
    RETRYABLE_STATUSES.includes(statusCode) ||
    (isAuthenticated && [401, 403].includes(statusCode));
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

/** Closes idle connections. */
export async function closeDownloadConnections(): Promise<void> {
  await Promise.all(Object.values(agents()).map((agent) => agent.destroy()));
}
