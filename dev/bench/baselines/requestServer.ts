import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/**
 * Serves HTTP on a free local port with just as much of the protocol as the service's clients need, to leave the
 * machine to the processes that are measured.
 * @param receive is called with each complete request, as text, and writes the response.
 * @returns the address, without a trailing slash.
 */
export async function serveRequests(receive: (socket: Socket, request: string) => void): Promise<string> {
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
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the length of the first request in the text, or 0 while it is incomplete. */
function getRequestLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const body = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  return text.length >= headEnd + 4 + body ? headEnd + 4 + body : 0;
}

/** Builds a response with a JSON body. */
export function buildResponse(status: number, body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} -\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}
