import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { publishedKeys } from '../shared/domain/oauth/signingKeys.ts';
import { closeDocumentConnections } from '../shared/gateways/clientDocuments.ts';
import { openPayments } from '../shared/gateways/payments/index.ts';
import { listen as listenToAnnouncements, stopListening, stopWaiting } from '../shared/queues/announcements.ts';
import { closeQueues, openQueues } from '../shared/queues/enqueue.ts';
import { config } from '../shared/lib/config.ts';
import { db } from '../shared/lib/db.ts';
import { warningOfMode } from '../shared/lib/listenSettings.ts';
import { logger } from '../shared/lib/logger.ts';
import { closeMetrics, openMetrics } from '../shared/lib/metricsServer.ts';
import { onStopSignal } from '../shared/lib/stop.ts';
import { createApp } from './app.ts';
import { closeMcp, endMcpStreams, openMcp } from './mcp/lifecycle.ts';
import { closeLimiters, openLimiters } from './middleware/rateLimit.ts';

/** The web process. Any number of them may run. */
const CLOSE_IDLE_MS = 100;

const warning = warningOfMode(config);
if (warning !== undefined) logger.warn(warning);
await openPayments(config);
await Promise.all([openQueues(), listenToAnnouncements(), openLimiters(), openMcp(), openMetrics()]);
// The first process of all makes the signing key; where the database is away just now, the first request looks again.
await publishedKeys().catch((error: Error) => logger.warn({ error: error.message }, 'no signing keys yet'));

const answer = createApp().callback();
const server = createServer((request, response) => void answer(request, response));
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
  process.stderr.write(
    `PORT ${config.PORT} of ${config.HOST} cannot be listened on (${error.message}): set PORT or HOST.\n`,
  );
  process.exit(78);
});
onStopSignal(async () => {
  // Those who wait for the end of a generation are answered with what there is.
  stopWaiting();
  endMcpStreams();
  // Takes no new connections, and ends when the last request has been answered.
  const closed = once(server, 'close');
  server.close();
  // A connection is idle, and can be closed, once its request has been answered.
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS);
  await closed;
  clearInterval(closing);
  closeMcp();
  closeMetrics();
  stopListening();
  closeLimiters();
  await closeQueues();
  await closeDocumentConnections();
  await db.destroy();
});
logger.info({ port: (server.address() as AddressInfo).port, baseUrl: config.BASE_URL }, 'api listening');
