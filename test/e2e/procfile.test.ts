import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';
import { startProgram } from '../../dev/local/environment/program.ts';
import { buildServiceEnv } from '../../dev/local/environment/serviceEnv.ts';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { eventually } from '../harness/testService.ts';

/** Runs each line of the Procfile in a shell, as foreman, Heroku and Dokku do. */
describe('the Procfile', function () {
  this.timeout(300_000);
  const commands = new Map(
    readFileSync(join(ROOT, 'Procfile'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/: (.*)/) as [string, string]),
  );
  const closers: (() => unknown)[] = [];
  after(async () => {
    for (const close of closers.toReversed()) await close();
  });

  /** Starts a process type. `exec` replaces the shell, so that it receives the signals of the platform. */
  function start(type: string, env: Record<string, string>) {
    const program = startProgram({
      name: type,
      file: 'sh',
      args: ['-c', `exec ${commands.get(type)}`],
      cwd: ROOT,
      env: { NODE_ENV: 'test', ...env },
    });
    closers.push(() => program.kill());
    return program;
  }

  it('migrates, becomes ready, and stops with status 0 on SIGTERM', async () => {
    const upstream = await new FakeUpstream().start();
    closers.push(() => upstream.stop());
    const port = String(await findFreePort());
    const env = {
      ...buildServiceEnv({
        databaseUrl: await createDatabase({ empty: true }),
        redisUrl: requireTestEnv('TEST_REDIS_URL'),
        redisPrefix: 'procfile',
        mediaDir: join(requireTestEnv('TEST_FOLDER'), 'media', 'procfile'),
      }),
      HOST: '127.0.0.1',
      PORT: port,
      FAL_BASE_URL: upstream.url,
      FAL_KEY: 'test',
    };
    const release = start('release', env);
    expect((await release.ended).status, release.logs()).to.equal(0);
    const processes = ['web', 'worker'].map((type) => start(type, env));
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/api/ready/`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually('the service is ready', isReady, 120_000).catch((error: Error) =>
      expect.fail([error.message, ...processes.map((program) => program.logs())].join('\n')),
    );
    for (const program of processes) expect(await program.stop(), program.logs()).to.equal(0);
  });
});
