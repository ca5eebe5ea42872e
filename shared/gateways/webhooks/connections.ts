import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS } from '../../spec/webhookDelivery.ts';

/**
 * Number of idle connections from which a connection is closed after its request. There may be ten thousand receivers,
 * most of which get their next message long after the idle time.
 */
export const IDLE_CONNECTIONS_MAX = 256;

const IDLE_TIMEOUT_MS = 4_000;

/** Connections to receivers, kept for each origin between the messages of a burst. */
export interface WebhookConnections {
  readonly agent: Agent;
  /** Number of requests in progress. */
  requests: number;
  /** Number of open connections. */
  readonly open: number;
  /** True if the connection of the next request must close after it. */
  readonly isFull: boolean;
}

/**
 * @param lookup resolves names; undefined uses the system's resolver, which accepts every address.
 * @param tls authorities that are trusted instead of those of Node, for tests.
 */
export function createWebhookConnections(
  lookup: LookupFunction | undefined,
  tls: { ca?: string } = {},
): WebhookConnections {
  let open = 0;
  const connect = buildConnector({
    ...tls,
    timeout: WEBHOOK_ATTEMPT_TIMEOUT_MS,
    ...(lookup === undefined ? {} : { lookup }),
  });
  const agent = new Agent({
    // The number of attempts in flight is bounded by their caller.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
    // The caller's signal limits the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
        if (error !== null) return callback(error, null);
        open += 1;
        socket.once('close', () => (open -= 1));
        return callback(null, socket);
      }),
  });
  return {
    agent,
    requests: 0,
    get open() {
      return open;
    },
    get isFull() {
      return open - this.requests >= IDLE_CONNECTIONS_MAX;
    },
  };
}
