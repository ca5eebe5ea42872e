import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { parseConfig } from '../../shared/lib/config.ts';
import { type Program, runProgram, startProgram } from '../../dev/local/environment/program.ts';
import { startSampleUpstream } from '../../dev/sampleUpstream/server.ts';
import { createCustomer, request, type TestCustomer } from '../harness/apiClient.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { allocatePort } from '../harness/ports.ts';

/** The sample upstream renders in software, beside other tests. */
const END_TIMEOUT_MS = 120_000;

type LocalStack = Program & { baseUrl: string };

/** Stops a program that has not ended by itself. @returns its exit status. */
function stopRunning(program: Program): Promise<number | null> {
  expect(program.isRunning, program.logs()).to.equal(true);
  return program.stop();
}

const runCheck = (env: NodeJS.ProcessEnv) => runProgram({ args: ['dist/worker/cli/check/main.js'], env });

describe('npm start', function () {
  this.timeout(500_000);
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
    await program.waitForLog('/api/generations/create/', 240_000);
    return Object.assign(program, { baseUrl: `http://localhost:${port}` });
  }

  // A start takes many seconds of a processor: the suites below share the second one, which the last of them stops.
  let second: LocalStack;

  describe('after a kill -9', () => {
    let first: LocalStack;
    let customer: TestCustomer;
    let uuid: string;
    let ended: Awaited<ReturnType<TestCustomer['waitForEnd']>>;
    before(async () => {
      const port = await allocatePort();
      first = await start(port);
      customer = await createCustomer(first.baseUrl, 'starter');
      ({ uuid } = await customer.createImage());
      ended = await customer.waitForEnd(uuid, END_TIMEOUT_MS);
      await first.kill();
      const settings = { STAFF_EMAILS: 'me@example.com', METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' };
      second = await start(port, dataDir, settings);
    });

    it('has started the whole service, and keeps its data', async () => {
      expect(first.logs()).to.not.match(/^ *Metrics /m);
      for (const part of ['Postgres', 'Redis', 'Upstream', 'Worker', 'API']) expect(first.logs()).to.include(part);
      expect(ended.status).to.equal('succeeded');
      expect((await customer.readGeneration(uuid)).body.status).to.equal('succeeded');
      expect(await customer.balance()).to.equal(392);
    });

    it('prints addresses and working commands, and admin and check find it through its data folder', async () => {
      const { baseUrl } = second;
      const output = second.logs();
      for (const path of ['/account/', '/api/docs/', '/admin/']) expect(output).to.include(` ${baseUrl}${path} `);
      const mailbox = /(http:\S+) +e-mail messages that the service sends/.exec(output)?.[1] ?? '';
      expect(await (await fetch(mailbox)).text()).to.include('<h1>Messages</h1>');
      expect(output).to.include('for staff: me@example.com');
      // The printed commands, run in another folder.
      const commands = output.split('\n').filter((line) => /^ {2}(curl|UUID=)/.test(line));
      expect(commands).to.have.length(4);
      const done = await runProgram({ file: 'sh', args: ['-ec', commands.join('\n')], cwd: '/' });
      expect(done.out.trim().split('\n').at(-1))
        .to.include('"status":"succeeded"')
        .and.to.include('"output_url":"http');

      const env = { DATA_DIR: dataDir };
      const found = await runProgram({
        args: ['dist/worker/cli/admin/main.js', 'find-account', 'me@example.com'],
        env,
      });
      expect([found.status, found.err]).to.deep.equal([0, `Using the databases of the local service: ${baseUrl}\n`]);
      expect(found.out).to.include('1092');
      const given = ['grant-credits', 'me@example.com', '5', '--request', 'one', '--apply'];
      const granted = await runProgram({ args: ['dist/worker/cli/admin/main.js', ...given], env });
      expect(granted.out, 'logs go to stderr').to.not.include('{"level"');
      const checked = await runCheck(env);
      expect([checked.status, checked.err.includes(baseUrl)], checked.out).to.deep.equal([0, true]);
      expect((await runCheck({ ...env, NODE_ENV: 'production' })).status).to.equal(78);
    });

    it('is used by the demo, which does not touch a service that was not started on its data folder', async () => {
      const { port } = new URL(second.baseUrl);
      const demo = ['--import', 'tsx', 'dev/demo/main.ts'];
      const elsewhere = { PORT: port, DATA_DIR: `${dataDir}-elsewhere` };
      const refused = await runProgram({ args: demo, env: elsewhere });
      expect(refused.status).to.equal(1);
      expect(refused.err).to.include(`The service at ${second.baseUrl} was not started on ${dataDir}-elsewhere.`);
      const allowed = await runProgram({ args: [...demo, '--url', second.baseUrl], env: elsewhere });
      expect([allowed.status, allowed.err]).to.deep.equal([0, '']);
      // One complete session is enough: it renders a video.
      const another = startProgram({ name: 'demo', args: demo, env: { DATA_DIR: dataDir, PORT: port } });
      running.push(another);
      await another.waitForLog(`Using the service: ${second.baseUrl}`);
      await another.kill();
    });

    it('redirects a page that is opened through another name of this machine to the origin of its forms', async () => {
      const path = '/sign-in?done=signed-out';
      const other = await fetch(`${second.baseUrl.replace('localhost', '127.0.0.1')}${path}`, { redirect: 'manual' });
      expect([other.status, other.headers.get('location')]).to.deep.equal([302, `${second.baseUrl}${path}`]);
    });

    it('METRICS_PORT=0 prints the chosen addresses, and a port without a free successor is rejected with one sentence', async () => {
      const addresses = [...second.logs().matchAll(/^ *Metrics +(?:worker|api) +(http:\S+\/metrics) /gm)];
      expect(addresses).to.have.length(2);
      for (const [, address = ''] of addresses) expect((await fetch(address)).status).to.equal(200);
      for (const [METRICS_PORT, PORT] of [
        ['65535', '3000'],
        ['2999', '3000'],
      ] as const) {
        const refused = await start(Number(PORT), dataDir, { METRICS_PORT }).catch((error: Error) => error.message);
        expect(refused).to.match(/^npm start exited with 1:\nMETRICS_PORT .*\.\n$/);
      }
    });
  });

  describe('with two installations side by side', () => {
    const token = 'a-token-of-20-letters';
    let given: Awaited<ReturnType<typeof startSampleUpstream>>;
    let metricsPort: number;
    /** Uses a provider of its own, and serves metrics. */
    let other: LocalStack;
    before(async () => {
      given = await startSampleUpstream({ delayMs: 100 });
      metricsPort = await findFreePortPair();
      const provider = {
        VIDEO_UPSTREAM: 'openai:own',
        OPENAI_BASE_URL: `${given.url}/v1`,
        OPENAI_API_KEY: 'own',
        IMAGE_UPSTREAM: 'replicate:some/model',
        IMAGE_UPSTREAM_FALLBACK: 'openai:own',
      };
      const metrics = { METRICS_PORT: String(metricsPort), METRICS_TOKEN: token };
      other = await start(await allocatePort(), `${dataDir}-2`, { ...provider, ...metrics });
    });
    after(() => given?.stop());

    it('both respond, and a port in use ends the start with a sentence that names PORT', async () => {
      for (const { baseUrl } of [second, other]) {
        expect((await request(baseUrl, 'GET', '/api/health/')).status).to.equal(200);
      }
      const taken = Number(new URL(other.baseUrl).port);
      const refused = await start(taken, `${dataDir}-3`).catch((error: Error) => error.message);
      expect(refused).to.match(/set PORT/);
    });

    it('a configured provider is used, and the sample upstream replaces one that is not configured', async () => {
      const lines = other
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
      const customer = await createCustomer(other.baseUrl);
      for (const { uuid } of [await customer.createImage(), await customer.createVideo()]) {
        expect((await customer.waitForEnd(uuid, END_TIMEOUT_MS)).status).to.equal('succeeded');
      }
    });

    it('API and worker each serve metrics on a port of their own, and both addresses are printed', async () => {
      const rows = [...other.logs().matchAll(/^ *Metrics +(\S+) +(\S+)/gm)];
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
    });

    it('a stop ends one with status 0, and leaves the other running', async () => {
      expect(await stopRunning(other)).to.equal(0);
      expect((await request(second.baseUrl, 'GET', '/api/health/')).status).to.equal(200);
    });
  });

  describe('after SIGINT', () => {
    it('a stop leaves no process behind, and admin and check no longer find it', async () => {
      second.signal('SIGINT');
      expect((await second.ended).status).to.equal(0);
      const addresses = [...second.logs().matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, listening]) => Number(listening));
      expect(addresses).to.have.length.above(3);
      for (const listening of new Set(addresses))
        expect(await acceptsConnections(listening), String(listening)).to.equal(false);
      expect(existsSync(join(dataDir, 'service.json'))).to.equal(false);
      expect((await runCheck({ DATA_DIR: dataDir })).status).to.equal(78);
    });
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
