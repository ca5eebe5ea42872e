import type { Socket } from 'node:net';
import { serveParent } from '../childProcess.ts';
import { buildResponse, serveRequests } from './requestServer.ts';

/**
 * Receives webhooks with just as much HTTP as the service's client needs. Paths that start with `/hang` get no
 * response; those that start with `/ok` are counted, with the delay since the time in the body. All others are unknown:
 * workers probe their upstreams here as well.
 */
const ACCEPTED = 'HTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n';
const UNKNOWN = buildResponse(404, {});
const CLOSING = 'HTTP/1.1 200 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

let delays: number[] = [];
let firstAt = 0;
let lastAt = 0;

const base = await serveRequests(receive);

function receive(socket: Socket, request: string): void {
  if (request.startsWith('POST /hang')) return;
  if (!request.startsWith('POST /ok')) return void socket.write(UNKNOWN);
  lastAt = Date.now();
  if (delays.length === 0) firstAt = lastAt;
  delays.push(lastAt - Date.parse(/"timestamp":"([^"]+)"/.exec(request)?.[1] ?? ''));
  const isLast = /\r\nconnection: close\r\n/i.test(request);
  socket.write(isLast ? CLOSING : ACCEPTED);
  if (isLast) socket.end();
}

const handlers = {
  base: () => base,
  reset: () => {
    delays = [];
  },
  count: () => delays.length,
  result: () => ({
    done: delays.length,
    'per second': (1_000 * (delays.length - 1)) / (lastAt - firstAt),
    ms: delays,
  }),
};
export type WebhookSink = typeof handlers;

serveParent(handlers);
