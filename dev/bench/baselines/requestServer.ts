import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/**
 * Serves HTTP on a free local port with just as much of the protocol as the service's clients need, to leave the machine
 * to the processes that are measured.
 * @param receive is called with each complete request, as text, and writes the response.
 * @param backlog number of connections that may wait to be accepted.
 * @returns the address, without a trailing slash.
 */
export async function serveRequests(
  receive: (socket: Socket, request: string) => void,
  backlog?: number,
): Promise<string> {
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
  server.listen({ port: 0, host: '127.0.0.1', ...(backlog === undefined ? {} : { backlog }) });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the length of the first request in the text, or 0 while it is incomplete. */
function getRequestLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const body = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  return text.length >= headEnd + 4 + body ? headEnd + 4 + body : 0;
}
