import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpFake } from './httpFake.ts';
import { readTextBody, sendJson } from './misbehave.ts';

/** A request as it arrived. */
export interface ReceivedModeration {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: any;
}

export const MODERATION_FAULTS = [
  'hang',
  'slow',
  'slow body',
  'status 500',
  'status 204',
  'redirect',
  'not JSON',
  'empty body',
  'another object',
  'a list',
  'large body',
  'endless body',
  'reset',
  'reset in the body',
  'not HTTP',
] as const;
export type ModerationFault = (typeof MODERATION_FAULTS)[number];

const CHUNK = Buffer.alloc(64 * 1024, ' ');

/** A moderation service that records what it is asked, and misbehaves on demand. */
export class FakeModerationService extends HttpFake {
  readonly received: ReceivedModeration[] = [];
  /** Decides about a request: a verdict, or a fault instead. */
  decide: (request: ReceivedModeration) => object | ModerationFault = () => ({ allow: true });
  /** Time that `slow` takes. */
  slowMs = 8_000;

  protected override async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readTextBody(request);
    const { method = '', url = '', headers } = request;
    const received = { method, path: url, headers, body: JSON.parse(text) };
    this.received.push(received);
    const decision = this.decide(received);
    if (typeof decision === 'object') sendJson(response, 200, decision);
    else this.#fail(decision, response);
  }

  #fail(fault: ModerationFault, response: ServerResponse): void {
    switch (fault) {
      case 'hang':
        return undefined;
      case 'slow':
        return void setTimeout(() => sendJson(response, 200, { allow: true }), this.slowMs);
      case 'slow body':
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"allow": tr');
        return void setTimeout(() => response.end('ue}'), this.slowMs);
      case 'status 500':
        return sendJson(response, 500, { allow: true });
      case 'status 204':
        return void response.writeHead(204).end();
      case 'redirect':
        return void response.writeHead(307, { location: `${this.url}/elsewhere` }).end();
      case 'not JSON':
        return void response.writeHead(200).end('<html>allow: true</html>');
      case 'empty body':
        return void response.writeHead(200).end();
      case 'another object':
        return sendJson(response, 200, { allow: 'true', allowed: true });
      case 'a list':
        return sendJson(response, 200, [{ allow: true }]);
      case 'large body':
        return void response.writeHead(200).end(JSON.stringify({ allow: true, notes: 'x'.repeat(1024 * 1024) }));
      case 'endless body':
        return sendEndlessBody(response.writeHead(200));
      case 'reset':
        return void response.socket?.resetAndDestroy();
      case 'reset in the body':
        response.writeHead(200, { 'content-length': 15 }).write('{"allow": ');
        return void setTimeout(() => response.socket?.resetAndDestroy(), 50);
      case 'not HTTP':
        return void response.socket?.end('220 mail ready\r\n\r\n');
    }
  }
}

function sendEndlessBody(response: ServerResponse): void {
  const send = (): void => {
    while (!response.destroyed) if (!response.write(CHUNK)) return void response.once('drain', send);
  };
  send();
}
