import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createRawServer, type Server as RawServer, type Socket } from 'node:net';

/** A local server that outputs are downloaded from. */
export interface FileServer {
  url: string;
  host: string;
  /** Path and `Authorization` header of each request. */
  requests: [string, string | undefined][];
}

const openServers: { server: Server | RawServer; sockets: Set<Socket> }[] = [];

/** Closes all servers and their connections. */
export function closeFileServers(): void {
  for (const { server, sockets } of openServers.splice(0)) {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

/** Starts a server that responds the same on every path. */
export async function startFileServer(answer: RequestListener): Promise<FileServer> {
  const seen: FileServer['requests'] = [];
  const server = createServer((request, response) => {
    seen.push([request.url ?? '', request.headers.authorization]);
    answer(request, response);
  });
  return { ...(await listenOnFreePort(server)), requests: seen };
}

/** Starts a server that need not follow HTTP. The callback runs when data arrives. */
export async function startRawFileServer(answer: (socket: Socket) => void): Promise<FileServer> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  return { ...(await listenOnFreePort(server)), requests: [] };
}

/** Starts a server that redirects every request. */
export function startRedirectServer(location: string): Promise<FileServer> {
  return startFileServer((_request, response) => response.writeHead(302, { location }).end());
}

async function listenOnFreePort(server: Server | RawServer): Promise<{ url: string; host: string }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  openServers.push({ server, sockets });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}`, host };
}
