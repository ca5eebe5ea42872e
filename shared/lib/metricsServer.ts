import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { config, ConfigError } from './config.ts';
import { listenWithRetry } from './listenWithRetry.ts';
import { logger } from './logger.ts';
import { collectProcessMetrics, metricsRegistry } from './metrics.ts';
import { sha256 } from './secrets.ts';
import { perService } from './serviceScope.ts';

const state = perService(() => ({ server: undefined as Server | undefined }));

/** Whether this process serves metrics. */
export function isMetricsEnabled(): boolean {
  return config.METRICS_PORT !== undefined;
}

/**
 * Serves what this process counts at `/metrics` of a port of its own, which is never the public one; without
 * METRICS_PORT there is none.
 * @throws ConfigError if the port cannot be listened on, or METRICS_TOKEN is set without it: the release step and the
 *   commands share these variables and serve nothing, so that parseConfig cannot reject that.
 */
export async function startMetricsServer(): Promise<void> {
  if (!isMetricsEnabled()) {
    if (config.METRICS_TOKEN === undefined) return;
    throw new ConfigError(
      'METRICS_PORT is not set, but METRICS_TOKEN is: set the port to tell metrics on, or leave out both.',
    );
  }
  if (state().server !== undefined) return;
  collectProcessMetrics();
  const server = createServer((request, response) => {
    if (!isAuthorizedScrape(request)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    } else if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
    } else {
      metricsRegistry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': metricsRegistry.contentType }).end(text),
        (error: unknown) => {
          logger.error({ err: error }, 'no metrics');
          response.writeHead(500).end();
        },
      );
    }
  });
  state().server = server;
  await listenWithRetry(server, config.METRICS_PORT, config.METRICS_HOST).catch((error: Error) => {
    throw new ConfigError(
      `METRICS_PORT ${config.METRICS_PORT} of ${config.METRICS_HOST} cannot be listened on (${error.message}): set METRICS_PORT, another one for each process of a machine, or METRICS_HOST.`,
    );
  });
  logger.info({ port: (server.address() as AddressInfo).port }, 'metrics listening');
}

/** With METRICS_TOKEN, who sends it as a bearer token. */
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
