import { config, parseConfig } from '../shared/lib/config.ts';
import { getInsecureModeWarning } from '../shared/lib/listenSettings.ts';
import { logger } from '../shared/lib/logger.ts';
import { runMain } from '../shared/lib/runMain.ts';
import { onShutdownSignal } from '../shared/lib/shutdown.ts';
import { openService } from '../shared/service.ts';
import { startApi } from './server.ts';

/** Starts the API process. Any number of them may run. */
runMain(async () => {
  const service = await openService(parseConfig(process.env));
  const warning = getInsecureModeWarning(config);
  if (warning !== undefined) logger.warn(warning);
  const api = await startApi();
  onShutdownSignal(async () => {
    await api.close();
    await service.close();
  }, config.DRAIN_MS);
  logger.info({ port: api.port, baseUrl: config.BASE_URL }, 'api listening');
});
