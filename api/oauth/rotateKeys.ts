import { rotateSigningKeys } from '../../shared/domain/oauth/signingKeys.ts';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { logger } from '../../shared/lib/logger.ts';
import { runMain } from '../../shared/lib/runMain.ts';
import { openService } from '../../shared/service.ts';

const USAGE = `npm run oauth:rotate-keys
In an image: node dist/api/oauth/rotateKeys.js

Creates the next signing key for access tokens. Tokens that are in use stay valid (docs/oauth.md: Keys). Takes no options.
Needs the environment of the service. Exits with 0 if it or another process created the key, otherwise with 1.`;

/** Creates the next signing key (docs/oauth.md: Keys). Exits with a status other than 0 on failure. */
runMain(async () => {
  readCommandLine('npm run oauth:rotate-keys', USAGE, {});
  const service = await openService(parseConfig(process.env));
  try {
    const created = await rotateSigningKeys();
    if (created === undefined) logger.warn('signing key already created by another process');
    else logger.info(created, 'signing key created');
  } catch (error) {
    logger.fatal({ err: error }, 'signing key rotation failed');
    process.exitCode = 1;
  } finally {
    await service.close();
  }
});
