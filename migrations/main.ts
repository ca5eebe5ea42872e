import { readCommandLine } from '../shared/lib/commandLine.ts';
import { parseConfig, setConfig } from '../shared/lib/config.ts';
import { createPool } from '../shared/lib/database/pool.ts';
import { logger, openLogger } from '../shared/lib/logger.ts';
import { runMain } from '../shared/lib/runMain.ts';
import { migrate } from './migrate.ts';
import { REUSE_PLANS_OF_PARTITIONS } from './reusePlans.ts';

const USAGE = `npm run release
In an image: node dist/migrations/main.js

Migrates the database at DATABASE_URL to this version: the release step of a deployment. Takes no options and can be run
again. Exits with 1 if a migration failed.`;

/** Runs the release step of a deployment: migrates the database, and exits with a status other than 0 on failure. */
runMain(async () => {
  readCommandLine('npm run release', USAGE, {});
  setConfig(parseConfig(process.env));
  openLogger();
  const db = createPool();
  try {
    const applied = await migrate(db);
    logger.info({ applied }, applied.length === 0 ? 'database is up to date' : 'database migrated');
    await db.raw(REUSE_PLANS_OF_PARTITIONS).catch((error: Error) => {
      // The service works without it, but slower.
      logger.warn({ error: error.message }, 'plan_cache_mode not set for partitioned tables');
    });
  } catch (error) {
    logger.fatal({ err: error }, 'migration failed');
    process.exitCode = 1;
  } finally {
    await db.destroy();
    logger.flush();
  }
});
