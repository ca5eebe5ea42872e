import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createDatabase, runRelease } from '../harness/databases.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

const PAGE = new URL('../../docs/catalog.md', import.meta.url);
const BLOCK = /^ *```(?<language>\w+) (?<purpose>run|file=(?<file>[\w.]+))\n(?<text>.*?)^ *```$/gms;

interface Block {
  file?: string;
  text: string;
}

/** Reads the blocks of the section that a reader follows. */
async function readBlocks(): Promise<Block[]> {
  const [, section = ''] = (await readFile(PAGE, 'utf8')).split('## Add a model in five minutes\n');
  const steps = section.slice(0, section.indexOf('\n## '));
  return [...steps.matchAll(BLOCK)].map(({ groups }) => ({ file: groups?.['file'], text: groups?.['text'] ?? '' }));
}

describe('the page "Add a model in five minutes"', () => {
  const folder = useFolder();
  let blocks: Block[];
  let service: TestService | undefined;
  before(async () => {
    blocks = await readBlocks();
  });
  after(() => service?.stop());

  it('leads to a generation with the new model, step by step', async () => {
    const files = blocks.filter(({ file }) => file !== undefined);
    expect(files.map(({ file }) => file)).to.deep.equal(['catalog.json', 'upstreams.json']);
    for (const { file = '', text } of files) await writeFile(join(folder, file), text);

    const [releaseStep, createStep] = blocks.filter(({ file }) => file === undefined).map(({ text }) => text.trim());
    const [, variables = '', command] = /^export (.*)\n\s*(.*)$/.exec(releaseStep ?? '') ?? [];
    expect(command).to.equal('npm run release');
    const pairs = variables.split(' ').map((pair) => pair.split('=') as [string, string]);
    const env = Object.fromEntries(pairs.map(([name, file]) => [name, join(folder, file)]));
    expect(Object.keys(env)).to.deep.equal(['CATALOG', 'UPSTREAMS']);
    const databaseUrl = await createDatabase();
    const { status, output } = await runRelease(databaseUrl, env);
    expect(status, output).to.equal(0);
    service = await startTestService({ databaseUrl, env, isReleased: false });

    const customer = await service.createCustomer();
    const script = createStep?.replace('http://localhost:3000', service.baseUrl) ?? '';
    const run = promisify(execFile);
    const { stdout } = await run('bash', ['-c', script], { env: { ...process.env, API_KEY: customer.key } });
    const created = JSON.parse(stdout);
    expect(created).to.include({ model: 'flux-dev', model_name: 'FLUX.1 dev', kind: 'image', credits_charged: 3 });
    expect(created.params).to.deep.equal({ size: 'wide', steps: 28 });
    expect((await customer.waitForEnd(created.uuid)).status).to.equal('succeeded');
    const [job] = service.upstream.jobsFor('A lighthouse at dusk');
    expect(job?.request.body).to.deep.include({
      input: { prompt: 'A lighthouse at dusk', image_size: 'landscape_16_9', num_inference_steps: 28 },
    });

    const { body } = await service.request('GET', '/api/models/');
    expect(body.data).to.have.length(1);
    expect(body.data[0]).to.deep.include({
      slug: 'flux-dev',
      credits_base: 2,
      inputs: {},
      deprecated_at: null,
      pricing: { min_credits: 2, max_credits: 3, formula: { $by: 'size', square: 2, wide: 3 } },
    });
  });
});
