import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { config } from './config.ts';
import { logger } from './logger.ts';
import { meterProcess, registry } from './meters.ts';
import { sha256 } from './secrets.ts';

let server: Server | undefined;

/** Whether anybody can ask for what is counted. */
export const IS_METERED = config.METRICS_PORT !== undefined;

/**
 * Serves what this process counts at `/metrics` of a port of its own, which is never the public one; without
 * METRICS_PORT there is none. Ends the process, with a sentence, where the port cannot be had, or is forgotten: the
 * release step and what is run by hand share these variables and serve nothing, so that only here it is known.
 */
export async function openMetrics(): Promise<void> {
  if (!IS_METERED) {
    if (config.METRICS_TOKEN === undefined) return;
    giveUp('METRICS_PORT is not set, but METRICS_TOKEN is: set the port to tell metrics on, or leave out both.');
  }
  meterProcess();
  server = createServer((request, response) => {
    if (!isAllowed(request)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    } else if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
    } else {
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        (error: unknown) => {
          logger.error({ err: error }, 'no metrics');
          response.writeHead(500).end();
        },
      );
    }
  });
  server.listen(config.METRICS_PORT, config.METRICS_HOST);
  await once(server, 'listening').catch((error: Error) => {
    giveUp(
      `METRICS_PORT ${config.METRICS_PORT} of ${config.METRICS_HOST} cannot be listened on (${error.message}): set METRICS_PORT, another one for each process of a machine, or METRICS_HOST.`,
    );
  });
  logger.info({ port: (server.address() as AddressInfo).port }, 'metrics listening');
}

function giveUp(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(78);
}

/** With METRICS_TOKEN, who sends it as a bearer token. */
function isAllowed(request: IncomingMessage): boolean {
  if (config.METRICS_TOKEN === undefined) return true;
  const sent = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(sha256(sent), sha256(config.METRICS_TOKEN));
}

export function closeMetrics(): void {
  server?.close();
  server?.closeAllConnections();
}
