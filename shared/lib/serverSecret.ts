import { config } from './config.ts';
import { parseDatabasePassword } from './configChecks.ts';
import { perService } from './serviceScope.ts';

/**
 * Returns a secret that is not in the database. What was derived from it before it changes can no longer be derived.
 */
export const getServerSecret = perService(() => config.SECRET_KEY ?? parseDatabasePassword(config.DATABASE_URL));
