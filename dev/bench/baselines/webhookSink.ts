import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { quantile } from '../../local/statistics.ts';
import { serveParent } from '../childProcess.ts';

/**
 * Receives webhooks with just as much HTTP as the service's client needs. Paths that start with `/hang` get no response;
 * others are counted, with the delay since the time in the body.
 */
const ACCEPTED = 'HTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n';
const CLOSING = 'HTTP/1.1 200 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

let delays: number[] = [];
let firstAt = 0;
let lastAt = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let received = '';
  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    received += chunk;
    for (let length = getRequestLength(received); length > 0; length = getRequestLength(received)) {
      receive(socket, received.slice(0, length));
      received = received.slice(length);
    }
  });
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(server, 'listening');
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Returns the length of the first request in the text, or 0 while it is incomplete. */
function getRequestLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const body = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  return text.length >= headEnd + 4 + body ? headEnd + 4 + body : 0;
}

function receive(socket: Socket, request: string): void {
  if (request.startsWith('POST /hang')) return;
  lastAt = Date.now();
  if (delays.length === 0) firstAt = lastAt;
  delays.push(lastAt - Date.parse(/"timestamp":"([^"]+)"/.exec(request)?.[1] ?? ''));
  const isLast = /\r\nconnection: close\r\n/i.test(request);
  socket.write(isLast ? CLOSING : ACCEPTED);
  if (isLast) socket.end();
}

serveParent({
  base: () => base,
  reset: () => {
    delays = [];
  },
  count: () => delays.length,
  result: () => ({
    count: delays.length,
    perSecond: (1_000 * (delays.length - 1)) / (lastAt - firstAt),
    medianMs: quantile(delays, 0.5),
    p99Ms: quantile(delays, 0.99),
  }),
});
