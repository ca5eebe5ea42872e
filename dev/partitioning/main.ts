import pg from 'pg';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { partitionByAccount, PARTITIONED_TABLES } from './partitionByAccount.ts';

const USAGE = `npm run partition [-- options]

Partitions ${PARTITIONED_TABLES.join(', ')} of the database at DATABASE_URL by account.
Copies all rows in one transaction: stop the service first. See docs/scaling.md.

  --partitions <n>  number of partitions, which is hard to change later (default 16)`;

const { partitions } = readCommandLine('npm run partition', USAGE, { partitions: { type: 'string', default: '16' } });
process.exitCode = await run(Number(partitions), process.env['DATABASE_URL']);

async function run(count: number, connectionString: string | undefined): Promise<number> {
  if (!Number.isInteger(count) || count < 2 || count > 1_000) {
    console.error('--partitions must be a whole number from 2 to 1000.');
    return 2;
  }
  if (connectionString === undefined) {
    console.error('DATABASE_URL is not set: it must be the address of a migrated database.');
    return 78;
  }
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    await partitionByAccount(client, count);
    console.log(`Partitioned ${PARTITIONED_TABLES.join(', ')} into ${count} partitions each.`);
    return 0;
  } catch (error) {
    console.error(`Not partitioned: ${(error as Error).message}`);
    return 1;
  } finally {
    await client.end();
  }
}
