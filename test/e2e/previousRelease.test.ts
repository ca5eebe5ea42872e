import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import knex from 'knex';
import { expect } from 'chai';
import pg from 'pg';
import { createDemoClient } from '../../dev/demo/client.ts';
import { ROOT } from '../../dev/local/environment/build.ts';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { runCommand } from '../../dev/local/servers/runCommand.ts';
import { startProgram } from '../../dev/local/environment/program.ts';
import { buildServiceEnv } from '../../dev/local/environment/serviceEnv.ts';
import { migrate } from '../../migrations/migrate.ts';
import { parseMigration, readMigrations } from '../../migrations/readMigrations.ts';
import { checkInvariants } from '../../shared/domain/integrity/index.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { eventually } from '../harness/testService.ts';

/** A release whose processes still run while the schema is already that of this one. */
interface Release {
  name: string;
  folder: string;
}

/**
 * Changes that migrations may make while the previous release runs (docs/migrations.md). Used until a release was
 * tagged.
 */
const ADDITIONS = {
  '9001_add_columns': parseMigration(`
    ALTER TABLE generations ADD COLUMN expanded text;
    ALTER TABLE accounts ADD COLUMN expanded integer NOT NULL DEFAULT 0;
    ALTER TABLE ledger_entries ADD COLUMN expanded text;
    ALTER TABLE generation_hours ADD COLUMN expanded text;
    CREATE TABLE expanded (account_id bigint PRIMARY KEY REFERENCES accounts (id));
  `),
  // The indexes of a migration are built before its changes, so one on a new column needs a migration of its own.
  '9002_add_index': parseMigration(
    'CREATE INDEX CONCURRENTLY generations_expanded_idx ON generations (expanded) WHERE expanded IS NOT NULL;',
  ),
};

const git = (...args: string[]) => runCommand('git', args, { cwd: ROOT });

/**
 * Extracts the sources of the latest release before this commit. Without one, these sources are the previous release.
 */
async function extractPreviousRelease(folder: string): Promise<Release> {
  const tag = (await git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')).stdout.trim();
  if (tag === '') return { name: 'these sources', folder: ROOT };
  mkdirSync(folder);
  const archive = join(folder, 'sources.tar');
  expect(await git('archive', `--output=${archive}`, tag)).to.include({ ok: true });
  expect(await runCommand('tar', ['-xf', archive, '-C', folder])).to.include({ ok: true });
  // With the packages of this release: the test is about the schema.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return { name: tag, folder };
}

describe('the previous release', () => {
  const closers: (() => unknown)[] = [];
  after(async () => {
    for (const close of closers.toReversed()) await close();
  });

  /** Runs a program of a release: from its sources, or for these sources from their build. @returns its log so far. */
  function start({ folder }: Release, main: string, env: Record<string, string>) {
    const program = startProgram({
      name: main,
      args: folder === ROOT ? [`dist/${main.replace(/ts$/, 'js')}`] : ['--import', 'tsx', main],
      cwd: folder,
      env: { NODE_ENV: 'test', ...env },
    });
    closers.push(() => program.kill());
    return program;
  }

  it('charges, generates and lists on the schema of this release, and all invariants hold', async function () {
    this.timeout(300_000);
    const folder = requireTestEnv('TEST_FOLDER');
    const previous = await extractPreviousRelease(join(folder, 'previous'));
    const upstream = await new FakeUpstream().start();
    closers.push(() => upstream.stop());
    const databaseUrl = await createDatabase({ empty: true });
    const port = String(await findFreePort());
    const baseUrl = `http://127.0.0.1:${port}`;
    const env = {
      ...buildServiceEnv({
        databaseUrl,
        redisUrl: requireTestEnv('TEST_REDIS_URL'),
        redisPrefix: 'previous-release',
        mediaDir: join(folder, 'media', 'previous'),
      }),
      HOST: '127.0.0.1',
      PORT: port,
      BASE_URL: baseUrl,
      FAL_BASE_URL: upstream.url,
      FAL_KEY: 'test',
      DATABASE_TIMEOUT_MS: '6000',
    };

    const released = start(previous, 'migrations/main.ts', env);
    expect((await released.ended).status, released.logs()).to.equal(0);
    const db = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 2 } });
    closers.push(() => db.destroy());
    const isTagged = previous.folder !== ROOT;
    await migrate(db, isTagged ? readMigrations() : { ...readMigrations(), ...ADDITIONS });

    const api = start(previous, 'api/main.ts', env);
    const worker = start(previous, 'worker/main.ts', env);
    const isReady = () =>
      fetch(`${baseUrl}/api/ready/`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually(`${previous.name} is ready`, isReady, 120_000).catch((error: Error) =>
      expect.fail(`${error.message}\n${api.logs()}${worker.logs()}`),
    );

    const client = createDemoClient(baseUrl, () => {});
    await client.post('/authentication/dev/sign-in/', { email: 'previous@example.com' });
    await client.post('/api/billing/checkout/', { plan: 'pro' });
    const { key } = await client.post<{ key: string }>('/api/keys/create/', { name: 'test' });
    client.useKey(key);
    const image = { model: 'imgmodel-2', params: { resolution: '1K' } };
    const good = await client.post<{ uuid: string }>('/api/generations/create/', { ...image, prompt: 'good' });
    const read = (uuid: string) => client.get<{ status: string }>(`/api/generations/${uuid}/`);
    const ends = (uuid: string, status: string) =>
      eventually(`a generation has ${status}`, async () => (await read(uuid)).status === status, 60_000);
    await ends(good.uuid, 'succeeded');
    upstream.outcome = 'fail';
    const bad = await client.post<{ uuid: string }>('/api/generations/create/', { ...image, prompt: 'bad' });
    await ends(bad.uuid, 'failed');
    const ledger = await client.get<{ data: { entry_type: string }[] }>('/api/ledger/');
    expect(ledger.data.map(({ entry_type: type }) => type)).to.deep.equal(['refund', 'burn', 'burn', 'grant']);

    const connection = new pg.Client({ connectionString: databaseUrl });
    await connection.connect();
    closers.push(() => connection.end());
    expect(await checkInvariants(connection, { isDrained: false, now: new Date() })).to.deep.equal([]);
  });
});
