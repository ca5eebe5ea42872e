import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { isPrivateAddress, lookupPublic } from './addresses.ts';

/** An output that will never be had: it is not there, not what it should be, or too large. */
export class UnusableOutput extends Error {}

/** What an upstream's outputs may lead to, besides the public internet. */
export interface Trust {
  /** The upstream's own host and port, wherever that is. */
  ownHost: string;
  /** Whether private addresses are allowed: an upstream in our own network. */
  isLocal: boolean;
}

export interface DownloadLimits {
  maxBytes: number;
  /** Of the whole download, with its redirects. */
  timeoutMs: number;
  /** How long nothing may come. */
  idleMs: number;
}

const defaultLimits = (): DownloadLimits => ({
  maxBytes: config.MEDIA_MAX_BYTES,
  timeoutMs: 120_000,
  idleMs: 15_000,
});

/** So many of an output's first bytes are told: they say what it is. */
export const HEAD_BYTES = 16;

const REDIRECTS_MAX = 3;

/** Answers below 500 after which the next try may go better. */
const PASSING = [408, 425, 429];

const agents = perService(() => ({
  toAnywhere: new Agent({ connections: config.UPSTREAM_CONCURRENCY }),
  toPublicOnly: new Agent({ connections: config.UPSTREAM_CONCURRENCY, connect: { lookup: lookupPublic } }),
}));

/**
 * Streams an output to a local file, within limits of size and time. Private addresses are refused, unless the
 * upstream is trusted with them. Headers go to the host of the first address only. A `data:` address is decoded.
 * Where it throws, a part of the output may be left in the file.
 * @returns the first bytes, for whoever wants to know what it is.
 * @throws UnusableOutput where trying again would not help; any other error where it may.
 */
export async function download(
  source: Source,
  trust: Trust,
  localFile: string,
  limits: Partial<DownloadLimits> = {},
): Promise<Buffer> {
  const { maxBytes, timeoutMs, idleMs } = { ...defaultLimits(), ...limits };
  const signal = AbortSignal.timeout(timeoutMs);
  const options = { headers: source.headers, signal, headersTimeout: idleMs, bodyTimeout: idleMs };
  let head = Buffer.alloc(0);
  let bytes = 0;
  async function* pass(): AsyncGenerator<Buffer> {
    // Asked for only now that the file is open. The length that was announced may be none, or a lie.
    for await (const chunk of bytesOf(source.url, trust, options, maxBytes)) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      yield chunk;
    }
  }
  await writeFile(localFile, pass(), { signal, flush: true });
  return head;
}

interface Source {
  url: string;
  headers?: Record<string, string>;
}

async function* bytesOf(url: string, trust: Trust, options: RequestOptions, maxBytes: number): AsyncGenerator<Buffer> {
  if (/^data:/i.test(url)) yield* decodeDataUrl(url);
  else yield* (await openOutput(url, trust, options, maxBytes)) as AsyncIterable<Buffer>;
}

type RequestOptions = Pick<Dispatcher.RequestOptions, 'headersTimeout' | 'bodyTimeout'> & {
  headers?: Record<string, string>;
  signal: AbortSignal;
};

/** Follows redirects to where the output is. */
async function openOutput(
  url: string,
  trust: Trust,
  { headers, ...options }: RequestOptions,
  maxBytes: number,
): Promise<Readable> {
  let address = url;
  let hasLeft = false;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const dispatcher = dispatcherFor(address, trust);
    // Whoever it was sent away to does not decide what it is asked for with the headers.
    hasLeft ||= new URL(address).origin !== new URL(url).origin;
    const answer = await request(address, { ...options, dispatcher, headers: hasLeft ? undefined : headers }).catch(
      giveUpOnPrivate,
    );
    const { statusCode, body } = answer;
    const isTooLarge = Number(answer.headers['content-length']) > maxBytes;
    if (statusCode === 200 && !isTooLarge) return body;
    await body.dump({ signal: options.signal, limit: 16_384 });
    if (statusCode === 200) throw tooLarge(maxBytes);
    const location = answer.headers['location'];
    if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string')
      throw refusal(statusCode, !hasLeft && headers !== undefined);
    address = URL.canParse(location, address) ? new URL(location, address).href : location;
  }
  throw new UnusableOutput('The output is behind too many redirects.');
}

/** @param asUs whether it was asked for with our key, which may be put right. */
function refusal(statusCode: number, asUs: boolean): Error {
  const message = `The output's address answered ${statusCode}.`;
  const mayPass = statusCode >= 500 || PASSING.includes(statusCode) || (asUs && [401, 403].includes(statusCode));
  return mayPass ? new Error(message) : new UnusableOutput(message);
}

function dispatcherFor(address: string, { ownHost, isLocal }: Trust): Dispatcher {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UnusableOutput('The output has no usable address.');
  if (url.host === ownHost || isLocal) return agents().toAnywhere;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw new UnusableOutput('The output is at a private address.');
  return agents().toPublicOnly;
}

function giveUpOnPrivate(error: Error & { code?: string }): never {
  throw error.code === 'EPRIVATE' ? new UnusableOutput('The output is at a private address.') : error;
}

function tooLarge(maxBytes: number): UnusableOutput {
  return new UnusableOutput(`The output is larger than ${maxBytes} bytes.`);
}

const PIECE_CHARACTERS = 64 * 1024;

/** Piece by piece, so that a large output is not in memory once more. */
function* decodeDataUrl(url: string): Generator<Buffer> {
  const start = url.indexOf(',') + 1;
  if (!/;base64,$/i.test(url.slice(0, start))) throw new UnusableOutput('The output is no base64 data.');
  let rest = '';
  for (let at = start; at < url.length; at += PIECE_CHARACTERS) {
    const piece = rest + url.slice(at, at + PIECE_CHARACTERS).replaceAll(/\s/g, '');
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(piece)) throw new UnusableOutput('The output is no base64 data.');
    const whole = piece.length - (piece.length % 4);
    yield Buffer.from(piece.slice(0, whole), 'base64');
    rest = piece.slice(whole);
  }
  yield Buffer.from(rest, 'base64');
}

/** Lets go of idle connections, at the end of a process. */
export async function closeDownloadConnections(): Promise<void> {
  await Promise.all(Object.values(agents()).map((agent) => agent.destroy()));
}
