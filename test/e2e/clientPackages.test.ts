import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type ProgramOptions, runProgram, startProgram } from '../../dev/local/environment/program.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { getRedirectLocation, submitConsent } from '../harness/oauthClient.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { allocatePort } from '../harness/ports.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const DOCUMENT = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
const [install, ...shellBlocks] = [...DOCUMENT.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
const listenBlocks = shellBlocks.filter((block) => block.includes('webhooks listen'));
/** Programs of the document, by the name in their first line. */
const PROGRAMS = new Map(
  [...DOCUMENT.matchAll(/^```js\n\/\/ (\w+\.mjs)[^]*?^```$/gm)].map(([block, name = '']) => [
    name,
    block.split('\n').slice(1, -1).join('\n'),
  ]),
);
/** Runs a program to its end. */
async function run(options: Omit<ProgramOptions, 'name'>): Promise<{ status: number | null; output: string }> {
  const { status, out, err } = await runProgram(options);
  return { status, output: out + err };
}
const STRICT = ['--noEmit', '--strict', '--target', 'es2022'];
const NODE_TYPES = ['--module', 'nodenext', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
const BROWSER_TYPES = [
  '--module',
  'esnext',
  '--moduleResolution',
  'bundler',
  '--lib',
  'es2023,dom',
  '--typeRoots',
  'none',
];
const TYPESCRIPT_7 = join(ROOT, 'node_modules/typescript/bin/tsc');
const TYPESCRIPT_5 = join(ROOT, 'packages/client/node_modules/typescript/bin/tsc');

describe('the packages for customers, installed from their tarballs', function () {
  this.timeout(120_000);
  let service: TestService;
  let customer: TestCustomer;
  let folder: string;
  let env: Record<string, string>;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'genmeter-packages-'));
    service = await startTestService();
    customer = await service.createCustomer('studio');
    env = {
      PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: folder,
      GENMETER_URL: service.baseUrl,
      GENMETER_KEY: customer.key,
      PROJECT: folder,
      // Nothing is read from a registry: the lock file of the service pins the same version.
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    };
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    const commander = `npm pack --silent ./node_modules/commander --ignore-scripts --pack-destination "$PROJECT"
      cd "$PROJECT" && npm install --silent ./commander-*.tgz`;
    await runShell(commander, ROOT);
    await runShell(install as string, ROOT);
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a script as in a shell of the customer, and fails if a line of it fails. */
  const runShell = async (script: string, cwd = folder): ReturnType<typeof run> => {
    const result = await run({ file: 'bash', args: ['-euc', script], env, cwd });
    expect(result.status, result.output).to.equal(0);
    return result;
  };
  const runNode = (args: string[]): ReturnType<typeof run> => run({ args, env, cwd: folder });

  it('contain the build, its types and nothing else; the client depends on no other package', () => {
    for (const name of ['client', 'cli']) {
      const installed = join(folder, 'node_modules/@genmeter', name);
      expect(readdirSync(installed)).to.have.members(['README.md', 'dist', 'package.json']);
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
      expect(manifest.version).to.equal(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
      expect(Object.keys(manifest.dependencies ?? {})).to.deep.equal(
        name === 'client' ? [] : ['@genmeter/client', 'commander'],
      );
    }
    expect(lstatSync(join(folder, 'node_modules/@genmeter/client')).isDirectory()).to.equal(true);
  });

  for (const [name, tsc, options] of [
    ['TypeScript 7 for Node', TYPESCRIPT_7, NODE_TYPES],
    ['TypeScript 5 for browsers', TYPESCRIPT_5, BROWSER_TYPES],
  ] as const) {
    it(`have types that ${name} accepts`, async () => {
      const source = `import { Genmeter, type Generation, type WebhookEvent, verifyWebhook } from '@genmeter/client';
const client = new Genmeter({ baseUrl: 'https://example.com' });
export async function create(): Promise<Generation> {
  // @ts-expect-error: the prompt is missing
  await client.generations.create({ model: 'imgmodel-2', params: { resolution: '1K' } });
  const { uuid } = await client.generations.create({ model: 'vidmodel-video', prompt: 'Waves', params: { duration: 5, resolution: '720p' } });
  return client.generations.wait(uuid);
}
export async function receive(request: Request): Promise<number | undefined> {
  const event: WebhookEvent = await verifyWebhook(await request.arrayBuffer(), request.headers, 'whsec_');
  if (event.type === 'credits.low') return event.data.balance;
  return event.type === 'generation.succeeded' ? event.data.credits_charged : undefined;
}
`;
      writeFileSync(join(folder, 'typed.ts'), source);
      const { status, output } = await runNode([tsc, ...STRICT, ...options, 'typed.ts']);
      expect(status, output).to.equal(0);
    });
  }

  it('run the programs of docs/client.md, which have no type errors', async () => {
    expect([...PROGRAMS.keys()]).to.deep.equal(['first.mjs', 'lists.mjs', 'errors.mjs', 'receiver.mjs']);
    expect(PROGRAMS.size).to.equal([...DOCUMENT.matchAll(/^```js$/gm)].length);
    for (const [name, program] of PROGRAMS) writeFileSync(join(folder, name), program);
    const check = await runNode([TYPESCRIPT_7, ...STRICT, ...NODE_TYPES, '--allowJs', '--checkJs', ...PROGRAMS.keys()]);
    expect(check.status, check.output).to.equal(0);
    expect((await runNode(['first.mjs'])).output).to.match(/^succeeded http\S+\.png\s*$/);
    expect((await runNode(['lists.mjs'])).output).to.match(/^\S{36} A lighthouse at dusk\n1 of 1\s*$/);
    expect((await runNode(['errors.mjs'])).output).to.match(/^validation_error 400 prompt .* \S{36}\s*$/);
  });

  it('have an example in Python, which runs without a package', async function () {
    const [, program] = /^```python\n([^]*?)^```$/m.exec(DOCUMENT) ?? [];
    const python = await run({ file: 'python3', args: ['--version'], env }).catch(() => null);
    if (python === null) {
      appendRunEvent({ kind: 'skip', file: this.test?.file ?? '', reason: 'python3 is not on the PATH' });
      return this.skip();
    }
    writeFileSync(join(folder, 'first.py'), program as string);
    const { status, output } = await run({ file: 'python3', args: ['first.py'], env, cwd: folder });
    expect([status, output]).to.satisfy(() => status === 0 && /^succeeded http\S+\.png\s*$/.test(output), output);
  });

  it('run the commands of docs/client.md', async () => {
    expect([shellBlocks.length, listenBlocks.length]).to.deep.equal([3, 1]);
    mkdirSync(join(folder, 'work'));
    for (const block of shellBlocks.filter((one) => !listenBlocks.includes(one))) {
      const { output } = await runShell(block, join(folder, 'work'));
      expect(output).to.include('succeeded');
    }
    expect(statSync(join(folder, '.config/genmeter/credentials.json')).mode & 0o777).to.equal(0o600);
    expect(readdirSync(join(folder, 'work')))
      .to.have.length(2)
      .and.include('lighthouse.png');
  });

  it('sign in through the browser, refresh the access from several processes at once, and sign out', async () => {
    const home = { ...env, GENMETER_KEY: '', XDG_CONFIG_HOME: join(folder, 'signed-in') };
    const genmeter = (...args: string[]) => run({ file: 'genmeter', args, env: home, cwd: folder });
    const login = startProgram({
      name: 'genmeter',
      file: 'genmeter',
      args: ['login', '--no-browser'],
      env: home,
      cwd: folder,
    });
    try {
      await login.waitForLog('/authorize?');
      const address = new URL(/http\S+\/authorize\S+/.exec(login.logs())?.[0] as string);
      const consent = await submitConsent(service.baseUrl, customer, address.pathname + address.search);
      expect((await fetch(getRedirectLocation(consent))).status).to.equal(200);
      expect((await login.ended).status).to.equal(0);
    } finally {
      await login.kill();
    }
    const file = join(home.XDG_CONFIG_HOME, 'genmeter/credentials.json');
    const { url, tokens } = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ url, tokens: { ...tokens, expiresAt: 0 } }));
    const results = await Promise.all(Array.from({ length: 5 }, () => genmeter('usage', '--json')));
    expect(results.map(({ status }) => status)).to.deep.equal([0, 0, 0, 0, 0]);
    const rotations = await service.sql(
      `SELECT 1 FROM oauth_refresh_tokens t JOIN oauth_grants g ON g.uuid = t.grant_uuid WHERE g.client_id = $1`,
      [tokens.clientId],
    );
    expect(rotations).to.have.length(2);
    expect((await genmeter('logout')).status).to.equal(0);
    expect((await genmeter('usage')).status).to.equal(3);
  });

  it('forward webhooks to the receiver of docs/client.md until ctrl-C', async () => {
    const port = await allocatePort();
    const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
    const receiver = startProgram({
      name: 'receiver',
      args: ['receiver.mjs'],
      env: { ...env, WEBHOOK_SECRET: secret, PORT: String(port) },
      cwd: folder,
    });
    // A shell replaces itself by the command, so that the signal reaches the program.
    const command = `exec ${(listenBlocks[0] as string).trim().replace(':4000', `:${port}`)} --secret ${secret} --json`;
    const listener = startProgram({ name: 'genmeter', file: 'bash', args: ['-c', command], env, cwd: folder });
    try {
      await listener.waitForLog('"ready":true');
      const { uuid } = await customer.createImage();
      await receiver.waitForLog(`msg_local_${uuid} generation.succeeded`);
      await eventually('the response is shown', () => listener.logs().includes('"status":204'));
      listener.signal('SIGINT');
      expect((await listener.ended).status).to.equal(130);
    } finally {
      await Promise.all([receiver.kill(), listener.kill()]);
    }
  });

  it('exit with a status and one line about the error, also without a network', async () => {
    const unreachable = { ...env, GENMETER_URL: 'http://127.0.0.1:1' };
    const missing = await run({ file: 'genmeter', args: ['get', 'unknown'], env, cwd: folder });
    expect([missing.status, missing.output.trim().split('\n').length]).to.deep.equal([1, 1]);
    const offline = await run({ file: 'genmeter', args: ['usage', '--json'], env: unreachable, cwd: folder });
    expect([offline.status, JSON.parse(offline.output).error]).to.deep.equal([5, 'network_error']);
    const { status } = await runProgram({
      file: 'bash',
      args: ['-c', 'genmeter --help | head -n 1'],
      env,
      cwd: folder,
    });
    expect(status).to.equal(0);
  });

  it('work in a real browser, on a page of the origin of the service', async function () {
    const browser = await launchBrowser(this);
    try {
      buildSync({
        stdin: { contents: "export { Genmeter, verifyWebhook } from '@genmeter/client';", resolveDir: folder },
        bundle: true,
        format: 'iife',
        globalName: 'genmeter',
        platform: 'browser',
        outfile: join(folder, 'bundle.js'),
      });
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(`${service.baseUrl}/api/health/`);
      await page.evaluate(
        `(() => { ${readFileSync(join(folder, 'bundle.js'), 'utf8')}; window.genmeter = genmeter; })()`,
      );
      const status = await page.evaluate(`(async () => {
        const client = new genmeter.Genmeter({ baseUrl: location.origin, key: '${customer.key}' });
        const { uuid } = await client.generations.create({ model: 'imgmodel-2', prompt: 'From a page', params: { resolution: '1K' } });
        return (await client.generations.wait(uuid)).status;
      })()`);
      expect(status).to.equal('succeeded');
    } finally {
      await browser.close();
    }
  });
});
