import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

const PAGE = new URL('../../docs/moderation.md', import.meta.url);
const BLOCK = /^ *```(?<language>\w+) (?<purpose>run|response|file=[\w.]+)\n(?<text>.*?)^ *```$/gms;

describe('the example in docs/moderation.md', () => {
  const folder = useFolder();
  let blocks: Map<string, string[]>;
  let receiver: ChildProcess;
  let service: TestService;
  let customer: TestCustomer;

  before(async () => {
    blocks = new Map();
    for (const { groups } of (await readFile(PAGE, 'utf8')).matchAll(BLOCK)) {
      const purpose = groups?.['purpose'] ?? '';
      blocks.set(purpose, [...(blocks.get(purpose) ?? []), groups?.['text'] ?? '']);
    }
    expect([...blocks.keys()]).to.deep.equal(['file=moderation.mjs', 'run', 'response']);
    const file = join(folder, 'moderation.mjs');
    await writeFile(file, blocks.get('file=moderation.mjs')?.[0] ?? '');

    const [, variables = '', command] = /^ *export (.*)\n *(.*)\n$/.exec(blocks.get('run')?.[0] ?? '') ?? [];
    expect(command).to.equal('npm start');
    const port = await findFreePort();
    const env = Object.fromEntries(
      variables
        .replace(':4010', `:${port}`)
        .split(' ')
        .map((pair) => pair.split('=') as [string, string]),
    );
    expect(Object.keys(env)).to.deep.equal(['MODERATION_URL', 'MODERATION_TOKEN']);
    receiver = spawn(process.execPath, [file], {
      env: { PORT: String(port), MODERATION_TOKEN: env['MODERATION_TOKEN'] },
      stdio: 'inherit',
    });
    await eventually('receiver', async () => (await fetch(env['MODERATION_URL'] ?? '').catch(() => null)) !== null);
    service = await startTestService({ workers: 0, env });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
  });
  after(async () => {
    await service?.stop();
    receiver?.kill();
  });

  /** Runs the create of the document. @returns the body of its response. */
  async function create(prompt?: string): Promise<any> {
    let script = (blocks.get('run')?.[1] ?? '').trim().replace('http://localhost:3000', service.baseUrl);
    if (prompt !== undefined) script = script.replace('A clown at dusk', prompt);
    const options = { env: { ...process.env, API_KEY: customer.key } };
    return JSON.parse((await promisify(execFile)('bash', ['-c', script], options)).stdout);
  }

  it('denies the shown create with the shown response, and charges nothing', async () => {
    expect(await create()).to.deep.equal(JSON.parse(blocks.get('response')?.[0] ?? ''));
    expect(await customer.balance()).to.equal(1_100);
  });

  it('allows another prompt, which the document names', async () => {
    const prompt = 'A lighthouse at dusk';
    expect(await readFile(PAGE, 'utf8')).to.include(`With "${prompt}" it is a 201.`);
    expect(await create(prompt)).to.include({ prompt, status: 'queued' });
    expect(await customer.balance()).to.equal(1_092);
  });

  it('is not decided by a receiver with another token', async () => {
    const response = await fetch(service.env['MODERATION_URL'] ?? '', { method: 'POST', body: '{"prompt":"a"}' });
    expect(response.status).to.equal(401);
  });
});
