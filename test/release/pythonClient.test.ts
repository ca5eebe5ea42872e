import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type ProgramResult, runProgram, startProgram } from '../../dev/local/environment/program.ts';
import {
  generateSigningKeys,
  parsePrivateKey,
  parseSecret,
  signWebhook,
} from '../../shared/domain/webhooks/signingKeys.ts';
import { LossyProxy } from '../fakes/lossyProxy.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { OFFLINE } from '../harness/offline.ts';
import { allocatePort } from '../harness/ports.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const PACKAGE = join(ROOT, 'packages/python');
/** Programs of the guide, by the name in their first line. */
const PROGRAMS = new Map(
  [...readFileSync(join(ROOT, 'docs/python.md'), 'utf8').matchAll(/^```python\n# (\w+\.py)[^]*?^```$/gm)].map(
    ([block, name = '']) => [name, block.split('\n').slice(1, -1).join('\n')],
  ),
);
/** The backend that builds the package comes from the Python registry, unless it is installed. */
const NO_REGISTRY = /No module named pip|Failed to establish a new connection|No matching distribution/;
const PYRIGHT = 'pyright@1.1.414';
const CREATES = 4;
const IMAGE_CREDITS = 8;

/** Sends creates at the same time, with both clients. */
const CREATE = `
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from genmeter import AsyncGenmeter, Genmeter

options = {"base_url": sys.argv[1], "key": os.environ["GENMETER_KEY"], "timeout": 2}
image = {"model": "imgmodel-2", "params": {"resolution": "1K"}}
count = ${CREATES}

with Genmeter(**options) as client, ThreadPoolExecutor(count) as threads:
    create = lambda index: client.generations.create(**image, prompt=f"Lighthouse {index}")["uuid"]
    print(*threads.map(create, range(count)), sep="\\n")

async def main():
    async with AsyncGenmeter(**options) as client:
        creates = [client.generations.create(**image, prompt=f"Windmill {index}") for index in range(count)]
        print(*[created["uuid"] for created in await asyncio.gather(*creates)], sep="\\n")

asyncio.run(main())
`;

function skip(context: Mocha.Context, reason: string): never {
  appendRunEvent({ kind: 'skip', file: context.test?.file ?? '', reason });
  return context.skip();
}

describe('the Python client', function () {
  this.timeout(180_000);
  let folder: string;
  /** Output of pip if it did not install the package; the tests then use the sources. */
  let notInstalled: string | undefined;
  let service: TestService;
  let customer: TestCustomer;

  const python = (args: string[], env: Record<string, string> = {}): Promise<ProgramResult> =>
    runProgram({ file: 'python3', args, cwd: folder, env: { ...environment(), ...env } });
  const environment = (): Record<string, string> => ({
    PYTHONPATH: notInstalled === undefined ? join(folder, 'installed') : join(PACKAGE, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    GENMETER_URL: service?.baseUrl ?? '',
    GENMETER_KEY: customer?.key ?? '',
  });
  /** Runs a program to its end, without errors, and returns its output. */
  const runPython = async (args: string[]): Promise<string> => {
    const { status, out, err } = await python(args);
    expect(status, `${out}${err}`).to.equal(0);
    return out;
  };

  before(async function () {
    folder = mkdtempSync(join(tmpdir(), 'genmeter-python-'));
    const args = ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'];
    const found = await runProgram({ file: 'python3', args }).catch(() => null);
    if (found?.status !== 0) return skip(this, 'python3 of version 3.9 or newer is not on the PATH');
    cpSync(PACKAGE, join(folder, 'source'), { recursive: true });
    for (const [name, program] of PROGRAMS) writeFileSync(join(folder, name), program);
    service = await startTestService();
    const address = `${service.baseUrl}/downloads/genmeter.tar.gz`;
    const pip = await python(['-m', 'pip', 'install', '--quiet', '--target', 'installed', address]);
    notInstalled = pip.status === 0 ? undefined : pip.err;
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is installed by pip with its types, and has the version of the service', async function () {
    if (notInstalled !== undefined && NO_REGISTRY.test(notInstalled)) {
      return skip(this, 'pip does not find setuptools, which builds the package');
    }
    expect(notInstalled).to.equal(undefined);
    const installed = readdirSync(join(folder, 'installed'));
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(installed).to.have.members(['genmeter', `genmeter-${version}.dist-info`]);
    expect(readdirSync(join(folder, 'installed/genmeter'))).to.include.members(['py.typed', 'types.py']);
    expect(await runPython(['-c', 'import genmeter; print(genmeter.__version__)'])).to.equal(`${version}\n`);
  });

  it('passes its own tests, against a server that misbehaves', async () => {
    const args = ['-m', 'unittest', 'discover', '-t', join(folder, 'source'), '-s', join(folder, 'source/tests')];
    const { status, err } = await python(args);
    expect(status, err).to.equal(0);
    expect(Number(/^Ran (\d+) tests/m.exec(err)?.[1])).to.be.above(60);
  });

  it('has types that pyright accepts in strict mode, and that reject wrong arguments', async function () {
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', folder];
    const npm = await runProgram({ file: 'npm', args: ['install', ...options, PYRIGHT], env: process.env });
    if (OFFLINE.test(npm.err)) return skip(this, 'pyright comes from the npm registry, which cannot be reached');
    expect(npm.status, npm.err).to.equal(0);
    const wrong = `import genmeter
client = genmeter.Genmeter(base_url="http://example.com")
client.generations.create(model="imgmodel-2", prompt="A lighthouse", params={})["uuid"].upper()
client.generations.create(model="imgmodel-2", params={})
client.generations.list(status="unknown")
`;
    writeFileSync(join(folder, 'wrong.py'), wrong);
    const settings = { include: ['source/src', 'wrong.py'], extraPaths: ['source/src'], typeCheckingMode: 'strict' };
    writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify({ ...settings, pythonVersion: '3.9' }));
    const args = [join(folder, 'node_modules/pyright/index.js'), '--outputjson', '-p', folder];
    const { out } = await runProgram({ args, env: { HOME: folder } });
    const found = (JSON.parse(out).generalDiagnostics as any[]).map(({ file, range, rule }) =>
      [file.slice(folder.length + 1), range.start.line + 1, rule].join(' '),
    );
    expect(found).to.deep.equal(['wrong.py 4 reportCallIssue', 'wrong.py 5 reportArgumentType']);
  });

  it('runs the programs of docs/python.md', async () => {
    const names = ['first.py', 'several.py', 'lists.py', 'errors.py', 'receiver.py', 'without_package.py'];
    expect([...PROGRAMS.keys()]).to.deep.equal(names);
    expect(await runPython(['first.py'])).to.match(/^succeeded http\S+\.png\s*$/);
    expect(readFileSync(join(folder, 'lighthouse.png')).subarray(1, 4).toString()).to.equal('PNG');
    expect(await runPython(['several.py'])).to.equal('A lighthouse succeeded\nA windmill succeeded\n');
    expect(await runPython(['lists.py'])).to.match(/^(\S{36} A \w+.*\n){3}3 of 3\s*$/);
    expect(await runPython(['errors.py'])).to.match(/^validation_error 400 prompt .* \S{36}\s*$/);
    expect(await runPython(['without_package.py'])).to.match(/^succeeded http\S+\.png\s*$/);
  });

  for (const fault of ['drop-2', 'cut-2', 'delay-1', 'refuse-1', 'unavailable-1']) {
    it(`creates and charges each generation once behind a proxy with the fault ${fault}`, async () => {
      const proxy = await new LossyProxy().start();
      try {
        proxy.target = service.baseUrl;
        const [balance, burns] = [await customer.balance(), await countBurns()];
        const created = (await runPython(['-c', CREATE, `${proxy.url}/${fault}/${fault}`])).trim().split('\n');
        expect(new Set(created).size).to.equal(2 * CREATES);
        for (const uuid of created) {
          const { status } = await customer.request('GET', `/api/generations/${uuid}/?wait=30`);
          expect(status).to.equal(200);
        }
        expect((await countBurns()) - burns).to.equal(2 * CREATES);
        expect(balance - (await customer.balance())).to.equal(2 * CREATES * IMAGE_CREDITS);
      } finally {
        await proxy.stop();
      }
    });
  }

  const countBurns = async (): Promise<number> =>
    (await customer.ledger()).filter(([type]: [string, number]) => type === 'burn').length;

  it('verifies webhooks as the service signs them, with the secret and with the public key', async () => {
    const { secret, publicKey, privateKey } = generateSigningKeys();
    const keys = [{ hmacKey: parseSecret(secret), privateKey: parsePrivateKey(privateKey), until: null }];
    const body = JSON.stringify({ type: 'generation.succeeded', data: { prompt: 'a lighthouse – 灯台' } });
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signWebhook(keys, { id: 'msg_1', timestamp, body }),
    };
    for (const key of [secret, publicKey]) {
      const port = await allocatePort();
      const env = { ...environment(), WEBHOOK_SECRET: key, PORT: String(port) };
      const receiver = startProgram({ name: 'receiver', file: 'python3', args: ['receiver.py'], cwd: folder, env });
      const post = async (text: string): Promise<number> => {
        const request = { method: 'POST', headers, body: text };
        return (await fetch(`http://127.0.0.1:${port}/`, request)).status;
      };
      try {
        await eventually('the receiver responds', async () => (await post('').catch(() => 0)) !== 0);
        expect(await post(body)).to.equal(204);
        await receiver.waitForLog('msg_1 generation.succeeded');
        expect(await post(body.replace('a', 'b'))).to.equal(400);
        await receiver.waitForLog('No signature of the message matches.');
      } finally {
        await receiver.kill();
      }
    }
  });
});
