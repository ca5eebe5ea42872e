import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BODY_TIME_LIMIT_MS, limitBodyTime } from './bodyTimeLimit.ts';

/** The connections of a server, for a graceful shutdown. */
export interface Connections {
  /** Returns true from the start of `startDraining`, while the server may still be accepting connections. */
  isDraining(): boolean;
  /** Closes each connection with its next response, and continues to accept connections. */
  startDraining(): void;
  /**
   * Stops accepting connections, completes the requests in progress, and closes every connection: idle ones immediately,
   * the others after `REQUESTS_TIMEOUT_MS` at the latest.
   */
  close(): Promise<void>;
}

/** Time limit for requests in progress. The slowest create that is not charged yet takes as long. */
const REQUESTS_TIMEOUT_MS = 20_000;
/** Time limit for the rest of a request body. Such a request has had no effect yet. */
const BODY_TIMEOUT_MS = 1_000;
const DRAIN_CHECK_INTERVAL_MS = 100;

/** Tracks the connections of a server from its start. */
export function trackConnections(server: Server, bodyTimeLimitMs = BODY_TIME_LIMIT_MS): Connections {
  const sockets = new Set<Socket>();
  const requests = new Map<IncomingMessage, ServerResponse>();
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    if (isDraining) {
      // Only the last response of a connection may close it. Pipelined requests follow those in progress.
      for (const [earlier, pending] of requests) if (earlier.socket === request.socket) pending.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    requests.set(request, response);
    response.once('close', () => requests.delete(request));
  });

  limitBodyTime(server, requests, bodyTimeLimitMs);

  /** Closes connections without a complete request. Node's `close` keeps those with a partial request. */
  function closeUnused(isBodyLate: boolean): void {
    const inUse = [...requests.keys()].filter((request) => request.complete || !isBodyLate);
    const used = new Set(inUse.map(({ socket }) => socket));
    for (const socket of sockets) if (!used.has(socket)) socket.destroy();
  }

  function startDraining(): void {
    isDraining = true;
    const last = new Map([...requests].map(([{ socket }, response]) => [socket, response]));
    for (const response of last.values()) response.shouldKeepAlive = false;
  }

  return {
    isDraining: () => isDraining,
    startDraining,
    close: async () => {
      if (!isDraining) startDraining();
      const closed = once(server, 'close');
      server.close();
      const startedAt = performance.now();
      closeUnused(false);
      const checking = setInterval(() => {
        const elapsedMs = performance.now() - startedAt;
        if (elapsedMs > REQUESTS_TIMEOUT_MS) server.closeAllConnections();
        else closeUnused(elapsedMs > BODY_TIMEOUT_MS);
      }, DRAIN_CHECK_INTERVAL_MS);
      await closed;
      clearInterval(checking);
    },
  };
}
