import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getPublishedKeys } from '../shared/domain/oauth/signingKeys.ts';
import { config, ConfigError } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { stopMetricsServer, startMetricsServer } from '../shared/lib/metricsServer.ts';
import {
  subscribeToGenerationUpdates as listenToAnnouncements,
  releaseWaiters,
} from '../shared/queues/generationUpdates.ts';
import { openQueues } from '../shared/queues/enqueue.ts';
import { createApp } from './app.ts';
import { trackConnections } from './connections.ts';
import { closeMcpStreams, openMcp } from './mcp/openMcp.ts';
import { closeRateLimiters, openRateLimiters } from './pipeline/rateLimit.ts';

/** Longer than load balancers keep idle connections (60 to 90 s): they must not reuse one that is being closed here. */
const KEEP_ALIVE_MS = 95_000;

export interface ApiServer {
  port: number;
  /** Answers the requests that have begun, then closes. */
  close(): Promise<void>;
}

/**
 * Serves the API of the open service at PORT of HOST.
 * @throws ConfigError if that cannot be listened on.
 */
export async function startApi(): Promise<ApiServer> {
  const [closeMcp] = await Promise.all([
    openMcp(),
    openQueues(),
    listenToAnnouncements(),
    openRateLimiters(),
    startMetricsServer(),
  ]);
  // The first process of all creates the signing key; while the database is away, the first request tries again.
  await getPublishedKeys().catch((error: Error) => logger.warn({ error: error.message }, 'no signing keys yet'));

  const server = createServer();
  const connections = trackConnections(server);
  const handleRequest = createApp(() => connections.isDraining()).callback();
  server.on('request', (request, response) => void handleRequest(request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 30_000;
  server.headersTimeout = 15_000;
  // What is no HTTP gets no further than here; the answer has the form of all others.
  server.on('clientError', (_error, socket) => {
    if (!socket.writable) return;
    const body = JSON.stringify({ error: 'validation_error', detail: 'The request is no valid HTTP.' });
    const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    socket.end(`${head}Connection: close\r\n\r\n${body}`);
  });
  server.listen(config.PORT, config.HOST);
  await once(server, 'listening').catch((error: Error) => {
    throw new ConfigError(
      `PORT ${config.PORT} of ${config.HOST} cannot be listened on (${error.message}): set PORT or HOST.`,
    );
  });

  async function close(): Promise<void> {
    // Clients that wait for the end of a generation are answered with what is stored.
    releaseWaiters();
    closeMcpStreams();
    await connections.close();
    closeMcp();
    stopMetricsServer();
    closeRateLimiters();
  }
  return { port: (server.address() as AddressInfo).port, close };
}
