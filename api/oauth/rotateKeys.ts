import { rotateSigningKeys } from '../../shared/domain/oauth/signingKeys.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { logger } from '../../shared/lib/logger.ts';
import { runMain } from '../../shared/lib/runMain.ts';
import { openService } from '../../shared/service.ts';

/** Makes the next signing key (docs/oauth.md: Keys). Ends with a status other than 0 where it cannot. */
runMain(async () => {
  const service = await openService(parseConfig(process.env));
  try {
    const made = await rotateSigningKeys();
    if (made === undefined) logger.warn('another process has just made the next signing key: nothing was done');
    else logger.info(made, 'made the next signing key');
  } catch (error) {
    logger.fatal({ error: (error as Error).message }, 'no signing key was made');
    process.exitCode = 1;
  } finally {
    await service.close();
  }
});
