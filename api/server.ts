import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getPublishedKeys } from '../shared/domain/oauth/signingKeys.ts';
import { verifyImageStore } from '../shared/gateways/media/inputImages.ts';
import { verifyPlanPricesAtStart } from '../shared/gateways/payments/index.ts';
import { config, ConfigError } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { stopMetricsServer, startMetricsServer } from '../shared/lib/metricsServer.ts';
import { releaseWaiters, subscribeToGenerationUpdates } from '../shared/queues/generationUpdates.ts';
import { openQueues } from '../shared/queues/enqueue.ts';
import { UPLOAD_TIME_LIMIT_MS } from '../shared/spec/limits.ts';
import { createApp } from './app.ts';
import { rejectConnection } from './bodyTimeLimit.ts';
import { trackConnections } from './connections.ts';
import { closeMcpStreams, openMcp } from './mcp/openMcp.ts';
import { closeRateLimiters, openRateLimiters } from './pipeline/rateLimit.ts';

/** Longer than load balancers keep idle connections (60 to 90 s), so that they never reuse one that closes here. */
const KEEP_ALIVE_MS = 95_000;
/** Time limit for the headers of a request; see bodyTimeLimit.ts for its body. */
const HEADERS_TIMEOUT_MS = 15_000;

export interface ApiServer {
  port: number;
  /** Turns readiness red and serves requests for DRAIN_MS, then completes those in progress and closes. */
  close(): Promise<void>;
}

/**
 * Serves the API of the open service on HOST and PORT.
 * @throws ConfigError if the port is not available, images of customers cannot be stored, or a price of a plan is
 *   wrong.
 */
export async function startApi(): Promise<ApiServer> {
  await Promise.all([verifyImageStore(), verifyPlanPricesAtStart()]);
  const [closeMcp] = await Promise.all([
    openMcp(),
    openQueues(),
    subscribeToGenerationUpdates(),
    openRateLimiters(),
    startMetricsServer(),
  ]);
  // The first process creates the signing keys. If the database is unavailable, the first request retries.
  await getPublishedKeys().catch((err: unknown) =>
    logger.warn({ err }, 'signing keys not loaded; requests will retry'),
  );

  const server = createServer();
  const handleRequest = createApp(() => connections.isDraining()).callback();
  const connections = trackConnections(server, (request, response) => void handleRequest(request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = UPLOAD_TIME_LIMIT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  // Reject malformed HTTP here, with the usual error body.
  server.on('clientError', (_error, socket) => {
    rejectConnection(socket, 'The request is not valid HTTP.');
  });
  server.listen(config.PORT, config.HOST);
  await once(server, 'listening').catch((error: Error) => {
    throw new ConfigError(
      `PORT ${config.PORT} on ${config.HOST} is not available (${error.message}): set PORT or HOST.`,
    );
  });

  async function close(): Promise<void> {
    // The balancer must stop sending requests before any connection that it may use closes.
    connections.startDraining();
    await delay(config.DRAIN_MS);
    // Responds to clients that wait for a generation with its stored state.
    releaseWaiters();
    closeMcpStreams();
    await connections.close();
    closeMcp();
    stopMetricsServer();
    closeRateLimiters();
  }
  return { port: (server.address() as AddressInfo).port, close };
}
