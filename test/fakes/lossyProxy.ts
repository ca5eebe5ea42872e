import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpFake } from './httpFake.ts';
import { readTextBody, sendJson } from './misbehave.ts';

/** Time for which a response is delayed, longer than any client of a test waits. */
const DELAY_MS = 3_000;
/** Headers that apply to one connection, or to the encoded body. */
const OWN_HEADERS = ['connection', 'content-encoding', 'content-length', 'host', 'keep-alive', 'transfer-encoding'];
/** Responses that the service did not give; pages of all origins may read them. */
const READABLE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After, X-Request-Id',
  'x-request-id': 'proxy',
};

/** A received webhook. */
interface Hook {
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * A proxy before the service that mistreats the first attempts of each request, as the path says:
 * `/<fault>-<times>/<any>/api/...`. Requests are the same if method, path and body are. At `/hooks/<name>` it accepts
 * webhooks, and returns them.
 */
export class LossyProxy extends HttpFake {
  /** Address of the service. */
  target = '';
  readonly #attempts = new Map<string, number>();
  readonly #hooks = new Map<string, Hook[]>();

  protected override async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await readTextBody(request);
    const [, fault = '', times = '0', path] = /^\/(\w+)-(\d+)\/[^/]+(\/.*)$/.exec(url) ?? [];
    if (url.startsWith('/hooks/')) return this.#handleHook(url, { headers, body }, method, response);
    if (path === undefined) return void response.writeHead(404, READABLE).end('<h1>Not found</h1>');
    const name = [method, url, body].join('\n');
    const attempt = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempt);
    // Clients do not control preflight requests.
    const isFaulty = method !== 'OPTIONS' && attempt <= Number(times);
    if (isFaulty && this.#replace(fault, response)) return;
    const reply = await this.#forward(method, path, headers, body);
    if (isFaulty) await this.#mistreat(fault, reply, response);
    else response.writeHead(reply.status, reply.headers).end(reply.body);
  }

  #handleHook(url: string, hook: Hook, method: string, response: ServerResponse): void {
    const received = this.#hooks.get(url) ?? [];
    this.#hooks.set(url, received);
    if (method === 'POST') received.push(hook);
    response.writeHead(200, { ...READABLE, 'content-type': 'application/json' }).end(JSON.stringify(received));
  }

  /** Responds instead of the service, which does not receive the request. @returns false for other faults. */
  #replace(fault: string, response: ServerResponse): boolean {
    const reject = (status: number, error: string): void => {
      for (const [name, value] of Object.entries({ ...READABLE, 'retry-after': '1' })) response.setHeader(name, value);
      sendJson(response, status, { error, detail: 'The proxy was set to reject this.' });
    };
    switch (fault) {
      case 'refuse':
        response.destroy();
        return true;
      case 'busy':
        reject(429, 'rate_limited');
        return true;
      case 'unavailable':
        reject(503, 'internal_error');
        return true;
      case 'page':
        response.writeHead(502, { ...READABLE, 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
        return true;
      case 'redirect':
        response.writeHead(301, { ...READABLE, location: 'https://example.com/' }).end();
        return true;
      default:
        return false;
    }
  }

  async #forward(method: string, path: string, headers: IncomingMessage['headers'], body: string) {
    const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)) as [string, string][];
    const response = await fetch(`${this.target}${path}`, {
      method,
      headers: kept,
      body: body === '' ? null : body,
      redirect: 'manual',
    });
    const received = [...response.headers].filter(([name]) => !OWN_HEADERS.includes(name));
    return { status: response.status, headers: received.flat(), body: Buffer.from(await response.arrayBuffer()) };
  }

  /** Loses a response of the service, which has executed the request. */
  async #mistreat(
    fault: string,
    { status, headers, body }: { status: number; headers: string[]; body: Buffer },
    response: ServerResponse,
  ): Promise<void> {
    if (fault === 'delay') {
      await sleep(DELAY_MS);
      response.writeHead(status, headers).end(body);
    } else if (fault === 'cut') {
      response.writeHead(status, [...headers, 'content-length', String(body.length)]);
      response.write(body.subarray(0, body.length / 2), () => response.destroy());
    } else if (fault === 'drop') response.destroy();
    else throw new Error(`Unknown fault: ${fault}`);
  }
}
