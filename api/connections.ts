import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server, for a graceful shutdown. */
export interface Connections {
  /** Returns true from the start of `close`, while the server may still be accepting connections. */
  isDraining(): boolean;
  /**
   * Stops accepting connections, answers the requests in progress, and closes every connection: at once where no request
   * was read, and after `DRAIN_MS` at the latest.
   */
  close(): Promise<void>;
}

/** Longest time that requests in progress are given. */
const DRAIN_TIMEOUT_MS = 10_000;
/** Longest time for the rest of a request body. Nothing was done for such a request yet. */
const BODY_TIMEOUT_MS = 1_000;
const DRAIN_CHECK_INTERVAL_MS = 100;

export function trackConnections(server: Server): Connections {
  const sockets = new Set<Socket>();
  const requests = new Set<IncomingMessage>();
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    requests.add(request);
    response.once('close', () => requests.delete(request));
  });

  /** Closes what cannot be answered: Node itself spares connections with a part of a request. */
  function closeUnused(isBodyLate: boolean): void {
    const inUse = [...requests].filter((request) => request.complete || !isBodyLate);
    const used = new Set(inUse.map(({ socket }) => socket));
    for (const socket of sockets) if (!used.has(socket)) socket.destroy();
  }

  return {
    isDraining: () => isDraining,
    close: async () => {
      isDraining = true;
      const closed = once(server, 'close');
      server.close();
      const startedAt = performance.now();
      closeUnused(false);
      const checking = setInterval(() => {
        const elapsedMs = performance.now() - startedAt;
        if (elapsedMs > DRAIN_TIMEOUT_MS) server.closeAllConnections();
        else closeUnused(elapsedMs > BODY_TIMEOUT_MS);
      }, DRAIN_CHECK_INTERVAL_MS);
      await closed;
      clearInterval(checking);
    },
  };
}
