import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createRawServer, type Server as RawServer, type Socket } from 'node:net';

/** A server on this machine that outputs are downloaded from. */
export interface Site {
  url: string;
  host: string;
  /** The path of each request, with what it was authorized by. */
  seen: [string, string | undefined][];
}

const open: { server: Server | RawServer; sockets: Set<Socket> }[] = [];

/** Closes all sites, and what still hangs on them. */
export function closeSites(): void {
  for (const { server, sockets } of open.splice(0)) {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

/** A site whose every path answers the same. */
export async function startSite(answer: RequestListener): Promise<Site> {
  const seen: Site['seen'] = [];
  const server = createServer((request, response) => {
    seen.push([request.url ?? '', request.headers.authorization]);
    answer(request, response);
  });
  return { ...(await listen(server)), seen };
}

/** A site that need not keep to HTTP; asked once it has heard something. */
export async function startRawSite(answer: (socket: Socket) => void): Promise<Site> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  return { ...(await listen(server)), seen: [] };
}

/** A site that sends everybody away. */
export function startRedirect(location: string): Promise<Site> {
  return startSite((_request, response) => response.writeHead(302, { location }).end());
}

async function listen(server: Server | RawServer): Promise<{ url: string; host: string }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  open.push({ server, sockets });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}`, host };
}
