import { rotateSigningKeys } from '../../shared/domain/oauth/signingKeys.ts';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { logger } from '../../shared/lib/logger.ts';
import { runMain } from '../../shared/lib/runMain.ts';
import { openService } from '../../shared/service.ts';

const USAGE = `npm run oauth:rotate-keys
In an image: node dist/api/oauth/rotateKeys.js

Makes the next signing key of the access tokens, without breaking live ones (docs/oauth.md: Keys). It takes no options,
and needs the service's DATABASE_URL and REDIS_URL. Ends with 0 where it did, or another process just had.`;

/** Makes the next signing key (docs/oauth.md: Keys). Ends with a status other than 0 where it cannot. */
runMain(async () => {
  readCommandLine('npm run oauth:rotate-keys', USAGE, {});
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
