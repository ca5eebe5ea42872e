import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type Program, startProgram } from '../../dev/local/environment/program.ts';
import { buildServiceEnv } from '../../dev/local/environment/serviceEnv.ts';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { eventually } from '../harness/testService.ts';

/** The Procfile runner of `heroku local`. */
const RUNNER = join(ROOT, 'node_modules/@heroku/foreman/nf.js');

/** Signals a runner and what it has started, as Ctrl-C in a terminal does. */
function signalGroup({ isRunning, child }: Program, signal: NodeJS.Signals): void {
  if (isRunning) process.kill(-(child.pid as number), signal);
}

describe('the Procfile, in a Procfile runner', function () {
  this.timeout(300_000);
  const closers: (() => unknown)[] = [];
  after(async () => {
    for (const close of closers.toReversed()) await close();
  });

  /** Starts process types, such as `web=1,worker=1`. The runner sets PORT of the first to `port`. */
  function start(processes: string, port: number, env: Record<string, string>) {
    const program = startProgram({
      name: processes,
      args: [RUNNER, 'start', '--port', String(port), processes],
      cwd: ROOT,
      env: { NODE_ENV: 'test', ...env },
      isDetached: true,
    });
    closers.push(() => signalGroup(program, 'SIGKILL'));
    return program;
  }

  it('migrates, becomes ready on the port of the runner, and stops when it is interrupted', async () => {
    const upstream = await new FakeUpstream().start();
    closers.push(() => upstream.stop());
    const port = await findFreePort();
    const env = {
      ...buildServiceEnv({
        databaseUrl: await createDatabase({ empty: true }),
        redisUrl: requireTestEnv('TEST_REDIS_URL'),
        redisPrefix: 'procfile',
        mediaDir: join(requireTestEnv('TEST_FOLDER'), 'media', 'procfile'),
      }),
      HOST: '127.0.0.1',
      FAL_BASE_URL: upstream.url,
      FAL_KEY: 'test',
    };
    const release = start('release=1', port, env);
    await release.ended;
    expect(release.logs()).to.match(/release\.1.*Exited Successfully/);
    const processes = start('web=1,worker=1', port, env);
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/api/ready/`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually('the service is ready', isReady, 120_000).catch((error: Error) =>
      expect.fail(`${error.message}\n${processes.logs()}`),
    );
    // The worker may start after the API.
    await processes.waitForLog(/worker\.1.*"msg":"worker ready"/, 120_000);
    signalGroup(processes, 'SIGINT');
    // The runner ends after both.
    await processes.ended;
    const logs = processes.logs();
    for (const name of ['web', 'worker']) expect(logs).to.match(new RegExp(`${name}\\.1.*"msg":"stopping"`));
    expect(logs).not.to.match(/"level":[56]0/);
  });
});
