import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pRetry from 'p-retry';
import { config, ConfigError } from './config.ts';
import './database/poolMetrics.ts';
import { logger } from './logger.ts';
import { collectProcessMetrics, metricsRegistry } from './metrics.ts';
import { sha256 } from './secrets.ts';
import { perService } from './serviceScope.ts';

const state = perService(() => ({ server: undefined as Server | undefined }));

/** Returns true if this process serves metrics. */
export function isMetricsEnabled(): boolean {
  return config.METRICS_PORT !== undefined;
}

/**
 * Serves the metrics at `/metrics` on METRICS_PORT, never on the public port. Also answers `/health`, without a token:
 * workers have no other port. Does nothing without METRICS_PORT.
 * @throws ConfigError if the port is not available, or if METRICS_TOKEN is set without METRICS_PORT. `parseConfig`
 *   cannot reject the latter, as release step and commands share the variables and serve nothing.
 */
export async function startMetricsServer(): Promise<void> {
  if (!isMetricsEnabled()) {
    if (config.METRICS_TOKEN === undefined) return;
    throw new ConfigError(
      'METRICS_PORT is not set, but METRICS_TOKEN is: set the port to serve metrics on, or unset both.',
    );
  }
  if (state().server !== undefined) return;
  collectProcessMetrics();
  const server = createServer((request, response) => {
    if (request.method === 'GET' && request.url === '/health') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
    } else if (!isAuthorizedScrape(request)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    } else if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
    } else {
      metricsRegistry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': metricsRegistry.contentType }).end(text),
        (error: unknown) => {
          logger.error({ err: error }, 'metrics collection failed');
          response.writeHead(500).end();
        },
      );
    }
  });
  state().server = server;
  await listenWithRetry(server, config.METRICS_PORT, config.METRICS_HOST).catch((error: Error) => {
    throw new ConfigError(
      `METRICS_PORT ${config.METRICS_PORT} of ${config.METRICS_HOST} is not available (${error.message}): set METRICS_PORT, another one for each process of a machine, or METRICS_HOST.`,
    );
  });
  logger.info({ port: (server.address() as AddressInfo).port }, 'metrics listening');
}

/** Checks the bearer token of a scrape, if METRICS_TOKEN is set. */
function isAuthorizedScrape(request: IncomingMessage): boolean {
  if (config.METRICS_TOKEN === undefined) return true;
  const sent = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(sha256(sent), sha256(config.METRICS_TOKEN));
}

export function stopMetricsServer(): void {
  const { server } = state();
  server?.close();
  server?.closeAllConnections();
}

/**
 * Listens on a port. Retries for 3 s while the port is in use: the process that this one replaces may still be
 * stopping.
 * @throws Error of the last attempt.
 */
async function listenWithRetry(server: Server, port: number | undefined, host: string): Promise<void> {
  const listen = () => {
    server.listen(port, host);
    return once(server, 'listening');
  };
  await pRetry(listen, {
    retries: Number.POSITIVE_INFINITY,
    maxRetryTime: 3_000,
    minTimeout: 100,
    factor: 1,
    shouldRetry: ({ error }) => (error as NodeJS.ErrnoException).code === 'EADDRINUSE',
  });
}
