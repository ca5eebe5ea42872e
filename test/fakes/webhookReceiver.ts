import { createPublicKey, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { HttpFake } from './httpFake.ts';
import { readTextBody } from './misbehave.ts';

/** A webhook as it arrived. */
export interface ReceivedWebhook {
  path: string;
  id: string;
  /** Seconds since 1970. */
  timestamp: number;
  headers: Record<string, string>;
  body: string;
  /** Time of arrival on the clock of `performance`. */
  at: number;
}

/** Response of a receiver. A number is a status. `slow` accepts after 700 ms. */
export type ReceiverBehaviour =
  | number
  | { status: number; headers?: Record<string, string>; body?: string | Uint8Array }
  | 'accept'
  | 'slow'
  | 'hang'
  | 'slow headers'
  | 'large body'
  | 'endless body'
  | 'hanging body'
  | 'reset'
  | 'garbage';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const LARGE_BYTES = 10 * 1024 * 1024;
const SLOW_MS = 700;

/** A receiver of webhooks that records what arrives, and misbehaves on demand. */
export class WebhookReceiver extends HttpFake {
  readonly received: ReceivedWebhook[] = [];
  /** Behaviour by path, which may start with that of an endpoint. Others accept. */
  readonly behaviours = new Map<string, ReceiverBehaviour>();
  /** Called when a webhook has arrived, before the response. */
  onReceived: (webhook: ReceivedWebhook) => void = () => {};
  /** Largest number of webhooks in progress at a time, by path. */
  readonly peaks = new Map<string, number>();
  readonly #inProgress = new Map<string, number>();

  protected override async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    this.#count(path, 1);
    response.once('close', () => this.#count(path, -1));
    const body = await readTextBody(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp } = headers;
    const webhook = { path, id, timestamp: Number(timestamp), headers, body, at: performance.now() };
    this.received.push(webhook);
    this.onReceived(webhook);
    this.#respond(this.behaviours.get(path) ?? 'accept', response);
  }

  /** Webhooks that arrived at a path. */
  at(path: string): ReceivedWebhook[] {
    return this.received.filter((webhook) => webhook.path === path);
  }

  #count(path: string, change: 1 | -1): void {
    const inProgress = (this.#inProgress.get(path) ?? 0) + change;
    this.#inProgress.set(path, inProgress);
    this.peaks.set(path, Math.max(inProgress, this.peaks.get(path) ?? 0));
  }

  #respond(behaviour: ReceiverBehaviour, response: ServerResponse): void {
    if (typeof behaviour === 'number') return void response.writeHead(behaviour).end('{}');
    if (typeof behaviour === 'object')
      return void response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body);
    switch (behaviour) {
      case 'accept':
        return void response.writeHead(204).end();
      case 'slow':
        return void setTimeout(() => response.writeHead(200).end('{}'), SLOW_MS);
      case 'hang':
        return undefined;
      case 'reset':
        return void response.socket?.resetAndDestroy();
      case 'garbage':
        return void response.socket?.end('SMTP ready\r\n\r\n');
      case 'slow headers':
        return sendSlowHeaders(response);
      case 'hanging body':
        return void response.writeHead(200, { 'content-length': 100 }).write('started');
      case 'large body':
        return sendChunks(response.writeHead(200, { 'content-length': LARGE_BYTES }), LARGE_BYTES);
      case 'endless body':
        return sendChunks(response.writeHead(200), Number.POSITIVE_INFINITY);
    }
  }
}

function sendChunks(response: ServerResponse, bytes: number): void {
  let left = bytes;
  const send = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= CHUNK.length;
      if (!response.write(CHUNK)) return void response.once('drain', send);
    }
    response.end();
  };
  send();
}

/** Sends a byte of a header every 200 ms, for ever. */
function sendSlowHeaders(response: ServerResponse): void {
  const { socket } = response;
  socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
  const timer = setInterval(() => socket?.write('x'), 200);
  socket?.once('close', () => clearInterval(timer));
}

/** Returns true if a message is signed with this secret, as the official library signs it. */
export function isSignedWith(secret: string, { id, timestamp, headers, body }: ReceivedWebhook): boolean {
  const expected = new Webhook(secret).sign(id, new Date(timestamp * 1_000), body);
  return headers['webhook-signature']?.split(' ').includes(expected) ?? false;
}

/** Returns true if a message is signed with the private key that belongs to this public key. */
export function isSignedByPublicKey(publicKey: string, { id, timestamp, headers, body }: ReceivedWebhook): boolean {
  const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return (headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((signature) => signature.startsWith('v1a,'))
    .some((signature) =>
      verify(null, Buffer.from(`${id}.${timestamp}.${body}`), key, Buffer.from(signature.slice(4), 'base64')),
    );
}
