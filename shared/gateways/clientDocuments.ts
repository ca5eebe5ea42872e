import { isIP } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import { config } from '../lib/config.ts';
import { perService } from '../lib/serviceScope.ts';
import { CLIENT_DOCUMENT_FRESH_MS, CLIENT_DOCUMENT_MAX_BYTES, CLIENT_DOCUMENT_TIMEOUT_MS } from '../spec/limits.ts';
import { isPrivateAddress, resolvePublic } from './media/addresses.ts';

/** A document that cannot be had, or not from there. The message is the end of a sentence that begins with its address. */
export class UnusableDocument extends Error {}

export interface ClientDocument {
  /** What the JSON says; nothing of it has been checked. */
  metadata: Record<string, unknown>;
  /** For how long it may be kept, in milliseconds. */
  freshMs: number;
}

/** The one host that may be at a private address and serve plain http: a fake, on a developer's machine. */
const trustedHost = () => config.OAUTH_CLIENT_DOCUMENT_HOST;

/** Documents that a process fetches at a time: strangers say from where. */
const AT_ONCE = 8;

const state = perService(() => ({
  fetching: 0,
  toPublicOnly: new Agent({
    connections: 4,
    connect: { lookup: resolvePublic, timeout: CLIENT_DOCUMENT_TIMEOUT_MS },
  }),
  toTrusted: new Agent({ connections: 4 }),
}));

/** Whether a client id is the address of a metadata document. */
export function isDocumentAddress(clientId: string): boolean {
  if (!/^https?:\/\//.test(clientId) || !URL.canParse(clientId)) return false;
  const url = new URL(clientId);
  // As it is written: no dots in the path, no capitals in the host, no fragment, no credentials.
  if (url.href !== clientId || url.hash !== '' || url.username !== '' || url.password !== '') return false;
  return url.pathname !== '/' && (url.protocol === 'https:' || url.host === trustedHost());
}

/**
 * Fetches the metadata document of a client, from a public address, without following it anywhere else, and within
 * limits of size and time.
 * @throws UnusableDocument
 */
export async function fetchClientDocument(address: string): Promise<ClientDocument> {
  if (state().fetching >= AT_ONCE) throw new UnusableDocument('cannot be asked for at the moment: too many others are');
  state().fetching += 1;
  const dispatcher = dispatcherFor(new URL(address));
  const signal = AbortSignal.timeout(CLIENT_DOCUMENT_TIMEOUT_MS);
  try {
    const answer = await request(address, { dispatcher, signal, headers: { accept: 'application/json' } });
    const text = await textOf(answer);
    return { metadata: objectIn(text), freshMs: freshnessOf(answer.headers['cache-control']) };
  } catch (error) {
    throw error instanceof UnusableDocument
      ? error
      : new UnusableDocument(reasonOf(error as Error & { code?: string }));
  } finally {
    state().fetching -= 1;
  }
}

function dispatcherFor({ host, hostname }: URL): Dispatcher {
  if (host === trustedHost()) return state().toTrusted;
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && isPrivateAddress(address)) throw new UnusableDocument('is at a private address');
  return state().toPublicOnly;
}

async function textOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<string> {
  const type = String(headers['content-type'] ?? '');
  const fault =
    statusCode !== 200
      ? `answered ${statusCode} instead of 200`
      : /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)
        ? undefined
        : 'is not of the type application/json';
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (fault !== undefined) break;
    bytes += chunk.length;
    if (bytes > CLIENT_DOCUMENT_MAX_BYTES)
      throw new UnusableDocument(`has more than ${CLIENT_DOCUMENT_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  if (fault !== undefined) throw new UnusableDocument(fault);
  return Buffer.concat(chunks).toString();
}

function objectIn(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UnusableDocument('is no JSON object');
}

/** As long as the headers allow, within bounds: so that no document is asked for all the time, or kept for ever. */
function freshnessOf(cacheControl: string | string[] | undefined): number {
  const { least, usual, most } = CLIENT_DOCUMENT_FRESH_MS;
  const directives = String(cacheControl ?? '').toLowerCase();
  if (/no-store|no-cache/.test(directives)) return least;
  const seconds = /max-age="?(\d{1,9})/.exec(directives)?.[1];
  return seconds === undefined ? usual : Math.min(most, Math.max(least, Number(seconds) * 1_000));
}

function reasonOf(error: Error & { code?: string }): string {
  if (error.code === 'EPRIVATE') return 'is at a private address';
  if (error.name === 'TimeoutError') return `did not come within ${CLIENT_DOCUMENT_TIMEOUT_MS / 1_000} s`;
  return 'cannot be reached';
}

/** Lets go of idle connections, at the end of a process. */
export async function closeDocumentConnections(): Promise<void> {
  await Promise.all([state().toPublicOnly.destroy(), state().toTrusted.destroy()]);
}
