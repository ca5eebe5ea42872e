import { createWriteStream } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { config } from '../../lib/config.ts';
import type { Kind } from '../../spec/catalog.ts';
import { isPrivateAddress, lookupPublic } from './addresses.ts';

/** An output that will never be had: it is not there, not what it should be, or too large. */
export class UnusableOutput extends Error {}

const DOWNLOAD_TIMEOUT_MS = 120_000;
const REDIRECTS_MAX = 3;

const timeouts = { connections: config.UPSTREAM_CONCURRENCY, headersTimeout: 15_000, bodyTimeout: 15_000 };
const toAnywhere = new Agent(timeouts);
const toPublicOnly = new Agent({ ...timeouts, connect: { lookup: lookupPublic } });

/**
 * Streams an output to a local file, within limits of size and time. Private addresses are refused, other than the
 * configured upstream's own host. A `data:` address is decoded.
 * @throws UnusableOutput where trying again would not help; any other error where it may.
 */
export async function download(url: string, ownHost: string, localFile: string): Promise<void> {
  if (url.startsWith('data:')) {
    await writeFile(localFile, decodeDataUrl(url));
    return;
  }
  const signal = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  let address = url;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await request(address, { dispatcher: dispatcherFor(address, ownHost), signal });
    const location = response.headers['location'];
    if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === 'string') {
      await response.body.dump();
      address = new URL(location, address).href;
      continue;
    }
    if (response.statusCode !== 200) {
      await response.body.dump();
      const message = `The output's address answered ${response.statusCode}.`;
      throw response.statusCode >= 500 || response.statusCode === 429
        ? new Error(message)
        : new UnusableOutput(message);
    }
    await pipeline(response.body, limitedTo(config.MEDIA_MAX_BYTES), createWriteStream(localFile), { signal });
    return;
  }
  throw new UnusableOutput('The output is behind too many redirects.');
}

function dispatcherFor(address: string, ownHost: string): Dispatcher {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UnusableOutput('The output has no usable address.');
  if (url.host === ownHost) return toAnywhere;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw new UnusableOutput('The output is at a private address.');
  return toPublicOnly;
}

function limitedTo(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new UnusableOutput(`The output is larger than ${maxBytes} bytes.`));
      else done(null, chunk);
    },
  });
}

function decodeDataUrl(url: string): Buffer {
  const comma = url.indexOf(',');
  if (comma < 0 || !url.slice(0, comma).endsWith(';base64')) throw new UnusableOutput('The output is no base64 data.');
  if (0.75 * (url.length - comma) > config.MEDIA_MAX_BYTES) throw new UnusableOutput('The output is too large.');
  return Buffer.from(url.slice(comma + 1), 'base64');
}

const SIGNATURES: { extension: string; kind: Kind; matches(head: Buffer): boolean }[] = [
  {
    extension: 'png',
    kind: 'image',
    matches: (head) => head.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n',
  },
  { extension: 'jpg', kind: 'image', matches: (head) => head.subarray(0, 3).toString('hex') === 'ffd8ff' },
  { extension: 'webp', kind: 'image', matches: (head) => head.subarray(8, 12).toString('latin1') === 'WEBP' },
  { extension: 'mp4', kind: 'video', matches: (head) => head.subarray(4, 8).toString('latin1') === 'ftyp' },
  { extension: 'webm', kind: 'video', matches: (head) => head.subarray(0, 4).toString('hex') === '1a45dfa3' },
];

/**
 * What a file really is, by its first bytes, whatever its sender called it.
 * @returns the ending for its name.
 * @throws UnusableOutput where it is not of the kind that was ordered.
 */
export async function sniffExtension(localFile: string, kind: Kind): Promise<string> {
  const file = await open(localFile);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    const head = buffer.subarray(0, bytesRead);
    const found = SIGNATURES.find((signature) => signature.kind === kind && signature.matches(head));
    if (found === undefined) throw new UnusableOutput(`The output is no ${kind}.`);
    return found.extension;
  } finally {
    await file.close();
  }
}

/** Lets go of idle connections, at the end of a process. */
export async function closeDownloadConnections(): Promise<void> {
  await Promise.all([toAnywhere.destroy(), toPublicOnly.destroy()]);
}
