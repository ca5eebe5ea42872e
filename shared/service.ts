import type { DestinationStream } from 'pino';
import { setThumbnailProgram, stopThumbnailProcess } from './gateways/media/thumbnail.ts';
import { openPaymentProcessor } from './gateways/payments/index.ts';
import { validateUpstreams } from './gateways/upstreams/index.ts';
import { getCatalog } from './lib/catalog/catalog.ts';
import { type Clock, systemClock, setClock } from './lib/clock.ts';
import { type Config, setConfig } from './lib/config.ts';
import { db, openDatabase } from './lib/database/pool.ts';
import { logger, openLogger } from './lib/logger.ts';
import { closeServiceScope, resetServiceScope } from './lib/serviceScope.ts';
import { closeTracing, openTracing } from './lib/tracingSdk.ts';
import { closeQueues } from './queues/enqueue.ts';
import { closeGenerationUpdates } from './queues/generationUpdates.ts';

export interface ServiceOptions {
  /** Default: the system's clock. */
  clock?: Clock;
  /** Destination of log lines. Default: stdout. */
  log?: DestinationStream;
  /** False for commands, which read no upstreams. Default: true. */
  usesUpstreams?: boolean;
  /**
   * True for a worker, so that its sessions in the database differ from those that customers wait for. Default: false.
   */
  isWorker?: boolean;
  /** Compiled program that makes thumbnails. Default: the one of this build. From sources it starts much slower. */
  thumbnailProgram?: string;
}

/** Configuration, clock, log, database, Redis and gateway connections that API, worker and commands share. */
export interface Service {
  readonly config: Readonly<Config>;
  /** Closes all connections. Close the API server and the worker first. */
  close(): Promise<void>;
}

let isOpen = false;

/**
 * Opens the service of this process: afterwards `config`, `db`, `logger`, `now()` and everything declared with
 * `perService` refer to it. Connections to Postgres and Redis are made on first use, so that a process starts even if
 * the database is unavailable.
 * @throws ConfigError if settings contradict each other; Error if a service is open already.
 */
export async function openService(config: Readonly<Config>, options: ServiceOptions = {}): Promise<Service> {
  if (isOpen) throw new Error('A service is open in this process already: close it first.');
  resetServiceScope();
  setConfig(config);
  setClock(options.clock ?? systemClock);
  openLogger(options.log);
  setThumbnailProgram(options.thumbnailProgram);
  getCatalog();
  if (options.usesUpstreams !== false) validateUpstreams();
  await openTracing();
  await openPaymentProcessor(config);
  openDatabase(options.isWorker === true);
  isOpen = true;
  return { config, close: closeService };
}

async function closeService(): Promise<void> {
  try {
    closeGenerationUpdates();
    await closeQueues();
    await Promise.all([closeServiceScope(), db.destroy()]);
  } finally {
    stopThumbnailProcess();
    await closeTracing();
    resetServiceScope();
    setClock(systemClock);
    logger.flush();
    isOpen = false;
  }
}
