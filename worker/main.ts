import { config, parseConfig } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { runMain } from '../shared/lib/runMain.ts';
import { onShutdownSignal } from '../shared/lib/shutdown.ts';
import { QUEUES } from '../shared/queues/catalog.ts';
import { openService } from '../shared/service.ts';
import { startWorker } from './worker.ts';

/** Entry point of the worker process. Any number of workers may run. */
runMain(async () => {
  const service = await openService(parseConfig(process.env), { isWorker: true });
  // It takes jobs before its start ends: a signal must not abort them.
  const starting = startWorker();
  onShutdownSignal(async () => {
    await (await starting).close();
    await service.close();
  });
  await starting;
  logger.info({ queues: QUEUES, concurrency: config.WORKER_CONCURRENCY }, 'worker ready');
});
