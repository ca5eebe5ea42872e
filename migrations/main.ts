import { parseConfig, useConfig } from '../shared/lib/config.ts';
import { connect } from '../shared/lib/db.ts';
import { logger, openLogger } from '../shared/lib/logger.ts';
import { runMain } from '../shared/lib/runMain.ts';
import { migrate } from './run.ts';

/** The release step of a deployment: migrates the database, and ends with a status other than 0 where it cannot. */
runMain(async () => {
  useConfig(parseConfig(process.env));
  openLogger();
  const db = connect();
  try {
    const applied = await migrate(db);
    logger.info({ applied }, applied.length === 0 ? 'the database is up to date' : 'the database was migrated');
  } catch (error) {
    logger.fatal({ error: (error as Error).message }, 'the database was not migrated');
    process.exitCode = 1;
  } finally {
    await db.destroy();
    logger.flush();
  }
});
