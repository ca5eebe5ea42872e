import type { DestinationStream } from 'pino';
import { closeClientMetadataConnections } from './gateways/clientMetadataDocument.ts';
import { closeDownloadConnections } from './gateways/media/download.ts';
import { closeMediaStore } from './gateways/media/configuredStore.ts';
import { stopThumbnailProcess } from './gateways/media/thumbnail.ts';
import { openPaymentProcessor } from './gateways/payments/index.ts';
import { closeUpstreamConnections, validateUpstreams } from './gateways/upstreams/index.ts';
import { type Clock, systemClock, setClock } from './lib/clock.ts';
import { type Config, setConfig } from './lib/config.ts';
import { db, openDatabase } from './lib/db.ts';
import { logger, openLogger } from './lib/logger.ts';
import { resetServiceScope } from './lib/serviceScope.ts';
import { closeQueues } from './queues/enqueue.ts';
import { closeGenerationUpdates } from './queues/generationUpdates.ts';

export interface ServiceOptions {
  /** Default: the system's clock. */
  clock?: Clock;
  /** Where log lines are written. Default: stdout. */
  log?: DestinationStream;
}

/** What API, worker and commands share: configuration, clock, log, database, Redis and the connections of the gateways. */
export interface Service {
  readonly config: Readonly<Config>;
  /** Closes all connections. Whoever uses them (API server, worker) is closed before. */
  close(): Promise<void>;
}

let isOpen = false;

/**
 * Opens the service of this process: afterwards `config`, `db`, `logger`, `now()` and everything declared with
 * `perService` refer to it. Connections to Postgres and Redis are made when they are first needed, so that a database
 * that is away does not keep a process from starting.
 * @throws ConfigError where settings do not fit together; Error if a service is open already.
 */
export async function openService(config: Readonly<Config>, options: ServiceOptions = {}): Promise<Service> {
  if (isOpen) throw new Error('A service is open in this process already: close it first.');
  resetServiceScope();
  setConfig(config);
  setClock(options.clock ?? systemClock);
  openLogger(options.log);
  validateUpstreams();
  await openPaymentProcessor(config);
  openDatabase();
  isOpen = true;
  return { config, close: closeService };
}

async function closeService(): Promise<void> {
  try {
    closeGenerationUpdates();
    await closeQueues();
    await Promise.all([
      closeClientMetadataConnections(),
      closeUpstreamConnections(),
      closeDownloadConnections(),
      closeMediaStore(),
      db.destroy(),
    ]);
  } finally {
    stopThumbnailProcess();
    resetServiceScope();
    setClock(systemClock);
    logger.flush();
    isOpen = false;
  }
}
