import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { parseConfig } from '../../shared/lib/config.ts';
import { type Program, runProgram, startProgram } from '../../dev/local/environment/program.ts';
import { startSampleUpstream } from '../../dev/sampleUpstream/server.ts';
import { createCustomer, request } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { allocatePort } from '../harness/ports.ts';

type LocalStack = Program & { baseUrl: string };

/** Stops a program that has not ended by itself. @returns its exit status. */
function stopRunning(program: Program): Promise<number | null> {
  expect(program.isRunning, program.logs()).to.equal(true);
  return program.stop();
}

describe('npm start', function () {
  this.timeout(180_000);
  const dataDir = join(requireTestEnv('TEST_FOLDER'), 'start');
  const running: Program[] = [];
  after(async () => {
    for (const program of running) await program.stop();
  });

  async function start(port: number, folder = dataDir, settings: Record<string, string> = {}): Promise<LocalStack> {
    const program = startProgram({
      name: 'npm start',
      args: ['--import', 'tsx', 'dev/local/start.ts'],
      env: { HOME: process.env['HOME'], PORT: String(port), DATA_DIR: folder, ...settings },
    });
    running.push(program);
    await program.waitForLog('/api/generations/create/', 150_000);
    return Object.assign(program, { baseUrl: `http://localhost:${port}` });
  }

  it('starts the whole service, keeps its data through kill -9 and a stop, and leaves no process behind', async () => {
    const port = await allocatePort();
    const first = await start(port);
    expect(first.logs()).to.not.match(/^ *Metrics /m);
    for (const part of ['Postgres', 'Redis', 'Upstream', 'Worker', 'API']) expect(first.logs()).to.include(part);
    const customer = await createCustomer(first.baseUrl, 'starter');
    const { uuid } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');

    await first.kill();
    const second = await start(port);
    expect((await customer.readGeneration(uuid)).body.status).to.equal('succeeded');
    expect(await customer.balance()).to.equal(392);

    second.signal('SIGINT');
    expect((await second.ended).status).to.equal(0);
    const addresses = [...second.logs().matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, listening]) => Number(listening));
    expect(addresses).to.have.length.above(3);
    for (const listening of new Set(addresses))
      expect(await acceptsConnections(listening), String(listening)).to.equal(false);
  });

  it('prints addresses and working commands, and admin and check find it through its data folder', async () => {
    const port = await allocatePort();
    const settings = { STAFF_EMAILS: 'me@example.com', METRICS_PORT: '0' };
    const started = await start(port, dataDir, settings);
    const { baseUrl } = started;
    const output = started.logs();
    for (const path of ['/account/', '/api/docs/', '/admin/']) expect(output).to.include(` ${baseUrl}${path} `);
    expect(output).to.include('for staff: me@example.com');
    expect(output.match(/^ *Metrics +(?:worker|api) +http:\S+\/metrics /gm)).to.have.length(2);
    // The printed commands, run in another folder.
    const commands = output.split('\n').filter((line) => /^ {2}(curl|UUID=)/.test(line));
    expect(commands).to.have.length(4);
    const done = await runProgram({ file: 'sh', args: ['-ec', commands.join('\n')], cwd: '/' });
    expect(done.out.trim().split('\n').at(-1)).to.include('"status":"succeeded"').and.to.include('"output_url":"http');

    const env = { DATA_DIR: dataDir };
    const found = await runProgram({ args: ['dist/worker/cli/admin/main.js', 'find-account', 'me@example.com'], env });
    expect([found.status, found.err]).to.deep.equal([0, `Using the databases of the local service at ${baseUrl}.\n`]);
    expect(found.out).to.include('1092');
    const given = ['grant-credits', 'me@example.com', '5', '--request', 'one', '--apply'];
    const granted = await runProgram({ args: ['dist/worker/cli/admin/main.js', ...given], env });
    expect(granted.out, 'logs go to stderr').to.not.include('{"level"');
    const checked = await runProgram({ args: ['dist/worker/cli/check/main.js'], env });
    expect([checked.status, checked.err.includes(baseUrl)], checked.out).to.deep.equal([0, true]);
    const inProduction = { ...env, NODE_ENV: 'production' };
    expect((await runProgram({ args: ['dist/worker/cli/check/main.js'], env: inProduction })).status).to.equal(78);

    // The demo does not touch a service that was not started on this folder.
    const demo = ['--import', 'tsx', 'dev/demo/main.ts'];
    const elsewhere = { PORT: String(port), DATA_DIR: `${dataDir}-elsewhere` };
    const refused = await runProgram({ args: demo, env: elsewhere });
    expect(refused.status).to.equal(1);
    expect(refused.err).to.include(`The service at ${baseUrl} was not started on ${dataDir}-elsewhere.`);
    const allowed = await runProgram({ args: [...demo, '--url', baseUrl], env: elsewhere });
    expect([allowed.status, allowed.err]).to.deep.equal([0, '']);
    expect((await runProgram({ args: demo, env: { ...env, PORT: String(port) } })).out).to.include(
      `Using the service at ${baseUrl}.`,
    );

    // A page that is opened through another name of this machine redirects to the origin whose forms are accepted.
    const other = await fetch(`http://127.0.0.1:${port}/sign-in?done=signed-out`, { redirect: 'manual' });
    expect([other.status, other.headers.get('location')]).to.deep.equal([302, `${baseUrl}/sign-in?done=signed-out`]);

    expect(await stopRunning(started)).to.equal(0);
    expect(existsSync(join(dataDir, 'service.json'))).to.equal(false);
    expect((await runProgram({ args: ['dist/worker/cli/check/main.js'], env })).status).to.equal(78);
  });

  it('two installations run side by side, and a port in use ends the start with a sentence that names PORT', async () => {
    const [one, other] = await Promise.all([start(await allocatePort()), start(await allocatePort(), `${dataDir}-2`)]);
    for (const { baseUrl } of [one, other]) {
      expect((await request(baseUrl, 'GET', '/api/health/')).status).to.equal(200);
    }
    const taken = Number(new URL(one.baseUrl).port);
    const refused = await start(taken, `${dataDir}-3`).catch((error: Error) => error.message);
    expect(refused).to.match(/set PORT/);
    expect(await Promise.all([one, other].map(stopRunning))).to.deep.equal([0, 0]);
  });

  it('a configured provider is used, and the sample upstream replaces one that is not configured', async () => {
    const given = await startSampleUpstream({ delayMs: 100 });
    try {
      const started = await start(await allocatePort(), dataDir, {
        VIDEO_UPSTREAM: 'openai:own',
        OPENAI_BASE_URL: `${given.url}/v1`,
        OPENAI_API_KEY: 'own',
        IMAGE_UPSTREAM: 'replicate:some/model',
        IMAGE_UPSTREAM_FALLBACK: 'openai:own',
      });
      const lines = started
        .logs()
        .split('\n')
        .map((line) => line.trim().split(/ {2,}/));
      const sample = lines.find(([part, name]) => part === 'Upstream' && name === 'replicate');
      expect(lines).to.deep.include([
        'Upstream',
        'openai',
        `${given.url}/v1`,
        'OPENAI_BASE_URL, for vidmodel-video and imgmodel-2 as fallback',
      ]);
      expect(sample?.[3]).to.equal('the sample upstream, dev/sampleUpstream, for imgmodel-2');
      expect(sample?.[2])
        .to.match(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
        .and.not.equal(`${given.url}/v1`);
      const customer = await createCustomer(started.baseUrl);
      for (const { uuid } of [await customer.createImage(), await customer.createVideo()]) {
        expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
      }
      expect(await stopRunning(started)).to.equal(0);
    } finally {
      await given.stop();
    }
  });

  it('API and worker each serve metrics on a port of their own, and both addresses are printed', async () => {
    const [metricsPort, token] = [await findFreePortPair(), 'a-token-of-20-letters'];
    const settings = { METRICS_PORT: String(metricsPort), METRICS_TOKEN: token };
    const started = await start(await allocatePort(), dataDir, settings);
    const rows = [...started.logs().matchAll(/^ *Metrics +(\S+) +(\S+)/gm)];
    const addresses = Object.fromEntries(rows.map(([, program = '', address = '']) => [program, address]));
    expect(addresses).to.deep.equal({
      worker: `http://127.0.0.1:${metricsPort + 1}/metrics`,
      api: `http://127.0.0.1:${metricsPort}/metrics`,
    });
    const headers = { authorization: `Bearer ${token}` };
    const [api, worker] = await Promise.all(
      ['api', 'worker'].map(async (program) => (await fetch(addresses[program] as string, { headers })).text()),
    );
    expect(api).to.match(/^genmeter_http_requests_total\{/m);
    expect(worker).to.match(/^genmeter_job_duration_seconds_count\{/m);
    expect(await stopRunning(started)).to.equal(0);
  });

  it('METRICS_PORT=0 prints the chosen addresses, and a port without a free successor is rejected with one sentence', async () => {
    const started = await start(await allocatePort(), dataDir, { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' });
    const addresses = [...started.logs().matchAll(/^ *Metrics +(?:worker|api) +(http:\S+\/metrics) /gm)];
    expect(addresses).to.have.length(2);
    for (const [, address = ''] of addresses) expect((await fetch(address)).status).to.equal(200);
    expect(await stopRunning(started)).to.equal(0);
    for (const [METRICS_PORT, PORT] of [
      ['65535', '3000'],
      ['2999', '3000'],
    ] as const) {
      const ended = await start(Number(PORT), dataDir, { METRICS_PORT }).catch((error: Error) => error.message);
      expect(ended).to.match(/^npm start exited with 1:\nMETRICS_PORT .*\.\n$/);
    }
  });

  it('a provider with an address and no key is rejected with a sentence that names the key', async () => {
    const settings = { FAL_BASE_URL: 'http://127.0.0.1:1' };
    const ended = await start(await allocatePort(), dataDir, settings).catch((error: Error) => error.message);
    expect(ended)
      .to.match(/^npm start exited with 1:/)
      .and.match(/FAL_KEY is not set: /);
  });
});

describe('.env.example', () => {
  it('contains every variable of the configuration, with its default', () => {
    const needed = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379' };
    const example = parseEnv(readFileSync('.env.example', 'utf8'));
    expect(parseConfig({ ...example, ...needed })).to.deep.equal(parseConfig(needed));
    const source = readFileSync('shared/lib/configVariables.ts', 'utf8');
    const names = [...source.matchAll(/^ {2}([A-Z][A-Z0-9_]*): /gm)].map(([, name]) => name);
    const onlyForStart = ['DATA_DIR', 'SAMPLE_DELAY_MS'];
    expect(Object.keys(example)).to.have.members([...new Set(names), ...onlyForStart]);
  });
});

/** Finds a port of this test process whose successor is its own, too. */
async function findFreePortPair(): Promise<number> {
  for (;;) {
    const port = await allocatePort();
    if ((await allocatePort()) === port + 1) return port;
  }
}

/** Returns true if a program listens on a port. */
async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const response = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return response;
}
