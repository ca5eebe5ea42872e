import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type ProgramResult, startProgram } from '../../dev/local/environment/program.ts';
import { PNG } from '../fakes/misbehave.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { CLIENT_GUIDE, ClientProject, SHELL_BLOCKS } from '../harness/clientProject.ts';
import { getRedirectLocation, submitConsent } from '../harness/oauthClient.ts';
import { allocatePort } from '../harness/ports.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const listenBlocks = SHELL_BLOCKS.filter((block) => block.includes('webhooks listen'));
/** Programs of the guide, by the name in their first line. */
const PROGRAMS = new Map(
  [...CLIENT_GUIDE.matchAll(/^```js\n\/\/ (\w+\.mjs)[^]*?^```$/gm)].map(([block, name = '']) => [
    name,
    block.split('\n').slice(1, -1).join('\n'),
  ]),
);
const MODULES = [...PROGRAMS.keys()];
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

function skip(context: Mocha.Context, reason: string): never {
  appendRunEvent({ kind: 'skip', file: context.test?.file ?? '', reason });
  return context.skip();
}

describe('the packages for customers, installed from the service', function () {
  this.timeout(180_000);
  let service: TestService;
  let customer: TestCustomer;
  let project: ClientProject;

  before(async () => {
    service = await startTestService();
    customer = await service.createCustomer('studio');
    project = new ClientProject({ GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key });
    await project.install(service.baseUrl);
  });
  beforeEach(() => service.upstream.reset());
  after(async () => {
    await service.stop();
    project.remove();
  });

  const download = (name: string, headers: Record<string, string> = {}) =>
    fetch(`${service.baseUrl}/downloads/${name}`, { headers });
  const runNode = async (args: string[]): Promise<{ status: number | null; output: string }> => {
    const { status, out, err } = await project.run(process.execPath, args);
    return { status, output: out + err };
  };
  /** Runs a program that a machine may not have. @returns null if it is missing. */
  const tryRun = (file: string, args: string[]): Promise<ProgramResult | null> =>
    project.run(file, args).catch(() => null);

  it('are served with and without a version, and are sent again only if they have changed', async () => {
    for (const name of ['client', 'cli']) {
      const [stable, versioned] = [
        await download(`genmeter-${name}.tgz`),
        await download(`genmeter-${name}-2.0.0.tgz`),
      ];
      expect(Object.fromEntries(stable.headers)).to.include({
        'cache-control': 'public, max-age=300',
        'content-type': 'application/octet-stream',
        'x-content-type-options': 'nosniff',
      });
      const content = Buffer.from(await stable.arrayBuffer());
      expect(content).to.deep.equal(readFileSync(join(ROOT, `dist/downloads/genmeter-${name}-2.0.0.tgz`)));
      expect(Buffer.from(await versioned.arrayBuffer())).to.deep.equal(content);
      const etag = versioned.headers.get('etag') as string;
      // Without a directive of its own, fetch asks for a complete response.
      const unchanged = await download(`genmeter-${name}.tgz`, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
      expect([unchanged.status, await unchanged.text()]).to.deep.equal([304, '']);
    }
    for (const name of ['genmeter-cli-1.0.0.tgz', '..%2Fpackage.json', 'constructor']) {
      const missing = await download(name);
      const { error, detail } = (await missing.json()) as { error: string; detail: string };
      expect([missing.status, error], name).to.deep.equal([404, 'not_found']);
      expect(detail).to.include('genmeter-cli.tgz');
    }
  });

  it('contain the build, its types and nothing else, and depend on no other package', () => {
    for (const [name, folder] of [
      ['client', 'node_modules'],
      ['cli', 'global/lib/node_modules'],
    ] as const) {
      const installed = join(project.folder, folder, '@genmeter', name);
      expect(readdirSync(installed)).to.have.members(['README.md', 'dist', 'package.json']);
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
      expect(manifest.version).to.equal(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
      expect(manifest).to.not.have.property('dependencies');
    }
    expect(lstatSync(join(project.folder, 'node_modules/@genmeter/client')).isDirectory()).to.equal(true);
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
      project.write('typed.ts', source);
      const { status, output } = await runNode([tsc, ...STRICT, ...options, 'typed.ts']);
      expect(status, output).to.equal(0);
    });
  }

  it('run the programs of docs/client.md, which have no type errors', async () => {
    expect(MODULES).to.deep.equal(['first.mjs', 'lists.mjs', 'errors.mjs', 'receiver.mjs']);
    expect(MODULES.length).to.equal([...CLIENT_GUIDE.matchAll(/^```js$/gm)].length);
    for (const [name, program] of PROGRAMS) project.write(name, program);
    const check = await runNode([TYPESCRIPT_7, ...STRICT, ...NODE_TYPES, '--allowJs', '--checkJs', ...MODULES]);
    expect(check.status, check.output).to.equal(0);
    expect((await runNode(['first.mjs'])).output).to.match(/^succeeded http\S+\.png\s*$/);
    expect((await runNode(['lists.mjs'])).output).to.match(/^\S{36} A lighthouse at dusk\n1 of 1\s*$/);
    expect((await runNode(['errors.mjs'])).output).to.match(/^validation_error 400 prompt .* \S{36}\s*$/);
  });

  it('run the commands of docs/client.md', async () => {
    expect([SHELL_BLOCKS.length, listenBlocks.length]).to.deep.equal([3, 1]);
    const folder = join(project.folder, 'work');
    mkdirSync(folder);
    for (const block of SHELL_BLOCKS.filter((one) => !listenBlocks.includes(one))) {
      expect((await project.runShell(block, folder)).out).to.include('succeeded');
    }
    expect(statSync(join(project.folder, '.config/genmeter/credentials.json')).mode & 0o777).to.equal(0o600);
    expect(readdirSync(folder)).to.have.length(2).and.include('lighthouse.png');
  });

  it('show the progress of a create on a terminal, then store its output', async function () {
    const file = join(project.folder, 'slow.png');
    if ((await tryRun('script', ['--version'])) === null) return skip(this, 'script is not on the PATH');
    service.upstream.outcome = 'wait';
    const prompt = 'A slow lighthouse';
    const command = `genmeter create image '${prompt}' -o ${file}`;
    const args = ['--quiet', '--return', '--command', command, '/dev/null'];
    const terminal = startProgram({ name: 'script', file: 'script', args, env: project.env, cwd: project.folder });
    try {
      await terminal.waitForLog(/Creating the image: 0 s/);
      await terminal.waitForLog(/Creating the image: [1-9]\d* s/);
      service.upstream.end(prompt, 'succeeded');
      expect((await terminal.ended).status, terminal.logs()).to.equal(0);
    } finally {
      await terminal.kill();
    }
    // The line is cleared before the result.
    expect(terminal.logs()).to.match(/Creating the image: \d+ s\r\u001b\[K[^]*succeeded/);
    expect(readFileSync(file)).to.deep.equal(PNG);
  });

  it('sign in through the browser, refresh the access from several processes at once, and sign out', async () => {
    const home = { GENMETER_KEY: '', XDG_CONFIG_HOME: join(project.folder, 'signed-in') };
    const genmeter = (...args: string[]) => project.run('genmeter', args, { env: home });
    const login = startProgram({
      name: 'genmeter',
      file: 'genmeter',
      args: ['login', '--no-browser'],
      env: { ...project.env, ...home },
      cwd: project.folder,
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
      ['genmeter-cli'],
    );
    expect(rotations).to.have.length(2);
    expect((await genmeter('logout')).status).to.equal(0);
    expect((await genmeter('usage')).status).to.equal(3);
  });

  it('forward webhooks to the receiver of docs/client.md until ctrl-C', async () => {
    const port = await allocatePort();
    const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
    const { env, folder: cwd } = project;
    project.write('receiver.mjs', PROGRAMS.get('receiver.mjs') as string);
    const receiver = startProgram({
      name: 'receiver',
      args: ['receiver.mjs'],
      env: { ...env, WEBHOOK_SECRET: secret, PORT: String(port) },
      cwd,
    });
    // A shell replaces itself by the command, so that the signal reaches the program.
    const command = `exec ${(listenBlocks[0] as string).trim().replace(':4000', `:${port}`)} --secret ${secret} --json`;
    const listener = startProgram({ name: 'genmeter', file: 'bash', args: ['-c', command], env, cwd });
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
    const missing = await project.run('genmeter', ['get', 'unknown']);
    expect([missing.status, (missing.out + missing.err).trim().split('\n').length]).to.deep.equal([1, 1]);
    const offline = await project.run('genmeter', ['usage', '--json'], { env: { GENMETER_URL: 'http://127.0.0.1:1' } });
    expect([offline.status, JSON.parse(offline.out + offline.err).error]).to.deep.equal([5, 'network_error']);
    expect((await project.run('bash', ['-c', 'genmeter --help | head -n 1'])).status).to.equal(0);
  });
});
