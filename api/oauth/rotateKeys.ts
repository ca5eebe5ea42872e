import { rotateSigningKeys } from '../../shared/domain/oauth/signingKeys.ts';
import { db } from '../../shared/lib/db.ts';
import { logger } from '../../shared/lib/logger.ts';

/** Makes the next signing key (docs/oauth.md: Keys). Ends with a status other than 0 where it cannot. */
try {
  const made = await rotateSigningKeys();
  if (made === undefined) logger.warn('another process has just made the next signing key: nothing was done');
  else logger.info(made, 'made the next signing key');
} catch (error) {
  logger.fatal({ error: (error as Error).message }, 'no signing key was made');
  process.exitCode = 1;
} finally {
  await db.destroy();
}
