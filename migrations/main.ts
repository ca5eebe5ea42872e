import { readCommandLine } from '../shared/lib/commandLine.ts';
import { releaseCatalog } from '../shared/domain/catalog/release.ts';
import { parseCatalog } from '../shared/lib/catalog/catalog.ts';
import { config, ConfigError, parseConfig, setConfig } from '../shared/lib/config.ts';
import { createPool } from '../shared/lib/database/pool.ts';
import { logger, openLogger } from '../shared/lib/logger.ts';
import { runMain } from '../shared/lib/runMain.ts';
import { migrate } from './migrate.ts';
import { REUSE_PLANS_OF_PARTITIONS } from './reusePlans.ts';

const USAGE = `npm run release
In an image: node dist/migrations/main.js

Migrates the database at DATABASE_URL to this version and stores the CATALOG: the release step of a deployment. Takes no
options and can be run again. Exits with 1 if a migration failed, and with 78 if the CATALOG cannot be released.`;

/**
 * Runs the release step of a deployment: migrates the database, stores the catalog, and exits with a status other than
 * 0 on failure.
 */
runMain(async () => {
  readCommandLine('npm run release', USAGE, {});
  setConfig(parseConfig(process.env));
  const catalog = parseCatalog(config);
  openLogger();
  const db = createPool();
  try {
    const applied = await migrate(db);
    logger.info({ applied }, applied.length === 0 ? 'database is up to date' : 'database migrated');
    await releaseCatalog(db, catalog);
    logger.info({ release: catalog.releaseId, models: catalog.models.length }, 'catalog released');
    await db.raw(REUSE_PLANS_OF_PARTITIONS).catch((error: Error) => {
      // The service works without it, but slower.
      logger.warn({ error: error.message }, 'plan_cache_mode not set for partitioned tables');
    });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    logger.fatal({ err: error }, 'release failed');
    process.exitCode = 1;
  } finally {
    await db.destroy();
    logger.flush();
  }
});
