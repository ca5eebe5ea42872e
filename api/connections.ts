import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { BODY_TIME_LIMIT_MS, type Exchange, limitBodyTime } from './bodyTimeLimit.ts';

/** The connections of a server, for back-pressure and a graceful shutdown. */
export interface Connections {
  /** Returns true from the start of `startDraining`, while the server may still be accepting connections. */
  isDraining(): boolean;
  /** Closes each connection with its next response, and continues to accept connections. */
  startDraining(): void;
  /**
   * Stops accepting connections, completes the requests in progress, and closes every connection: idle ones
   * immediately, the others after `REQUESTS_TIMEOUT_MS` at the latest.
   */
  close(): Promise<void>;
}

/** Time limit for requests in progress. The slowest create that is not charged yet takes as long. */
const REQUESTS_TIMEOUT_MS = 20_000;
/** Time limit for the rest of a request body. Such a request has had no effect yet. */
const BODY_TIMEOUT_MS = 1_000;
const DRAIN_CHECK_INTERVAL_MS = 100;
/** Time limit for a client that reads nothing of a response, as in nginx (`send_timeout`). */
const UNREAD_RESPONSE_TIMEOUT_MS = 60_000;

interface TimeLimits {
  bodyTimeLimitMs?: number;
  unreadResponseTimeoutMs?: number;
}

interface Connection {
  /** The request that is handled, then those that were sent without waiting for its response. */
  exchanges: Exchange[];
  /** True while nothing is read from the connection. */
  isPaused: boolean;
  /** True once a listener keeps the connection paused. */
  isGuarded: boolean;
}

/**
 * Handles the requests of a server, and tracks its connections from its start.
 *
 * Requests of one connection are handled one after the other, and nothing is read meanwhile: Node would start all that
 * a client sends without waiting for responses, and buffer the responses that it does not read. A response ends when
 * the operating system has accepted all of it. A client that reads nothing for `unreadResponseTimeoutMs` is
 * disconnected.
 */
export function trackConnections(
  server: Server,
  handle: RequestListener,
  { bodyTimeLimitMs = BODY_TIME_LIMIT_MS, unreadResponseTimeoutMs = UNREAD_RESPONSE_TIMEOUT_MS }: TimeLimits = {},
): Connections {
  const connections = new Map<Socket, Connection>();
  let isDraining = false;

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { exchanges: [], isPaused: false, isGuarded: false });
    socket.once('close', () => connections.delete(socket));
  });

  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    // The client has disconnected already.
    if (connection === undefined) return;
    const { exchanges } = connection;
    exchanges.push({ request, response });
    if (isDraining) closeWithLast(exchanges);
    if (exchanges.length === 1) start(connection, { request, response });
    else pause(request.socket, connection);
  });

  function start(connection: Connection, { request, response }: Exchange): void {
    const { socket } = request;
    response.once('close', () => {
      const { exchanges } = connection;
      exchanges.shift();
      const [next] = exchanges;
      if (next === undefined || socket.destroyed) return;
      // The body of the last request may be incomplete.
      if (exchanges.length === 1) resume(socket, connection);
      start(connection, next);
    });
    handle(request, response);
  }

  limitBodyTime(server, listStarted, bodyTimeLimitMs);

  function* listStarted(): Iterable<Exchange> {
    for (const { exchanges } of connections.values()) {
      const [started] = exchanges;
      if (started !== undefined) yield started;
    }
  }

  // Node measures the time without progress. It also reports connections that are idle for the keep-alive time.
  server.setTimeout(unreadResponseTimeoutMs, (socket: Socket) => {
    const isHandling = (connections.get(socket)?.exchanges.length ?? 0) > 0;
    if (!isHandling || socket.writableLength > 0) socket.destroy();
  });

  /** Closes connections without a complete request. Node's `close` keeps those with a partial request. */
  function closeUnused(isBodyLate: boolean): void {
    for (const [socket, { exchanges }] of connections) {
      const isUsed = exchanges.some(({ request }) => request.complete || !isBodyLate);
      if (!isUsed) socket.destroy();
    }
  }

  function startDraining(): void {
    isDraining = true;
    for (const { exchanges } of connections.values()) closeWithLast(exchanges);
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

/** Closes a connection with the last of its responses. Those before it must not: requests follow them. */
function closeWithLast(exchanges: readonly Exchange[]): void {
  for (const [index, { response }] of exchanges.entries()) response.shouldKeepAlive = index < exchanges.length - 1;
}

/** Stops reading from a connection. Up to 64 KiB of requests may have been read with the one that paused it. */
function pause(socket: Socket, connection: Connection): void {
  connection.isPaused = true;
  socket.pause();
  if (connection.isGuarded) return;
  connection.isGuarded = true;
  // Node resumes at the end of each request and when a body is read. It reads nothing before this event.
  socket.on('resume', () => {
    if (connection.isPaused) socket.pause();
  });
}

function resume(socket: Socket, connection: Connection): void {
  connection.isPaused = false;
  socket.resume();
}
