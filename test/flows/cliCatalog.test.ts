import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { buildImageCatalog, makeImage } from '../harness/inputImages.ts';
import { useTestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

/** The models that take images, and one with parameters of every type. */
function buildCatalog(): string {
  const { models } = JSON.parse(buildImageCatalog()) as { models: Record<string, object> };
  const flux = {
    name: 'FLUX.1 dev',
    kind: 'image',
    description: 'Fast images from a text prompt.',
    upstreams: ['fal:fal-ai/flux/dev'],
    params: {
      size: { enum: ['square', 'wide'], required: true, description: 'Format of the image.' },
      steps: { type: 'integer', minimum: 10, maximum: 50, default: 28 },
      guidance: { type: 'number', minimum: 1, maximum: 20, required: true },
      fast: { type: 'boolean' },
      note: { type: 'string', maximum: 20 },
    },
    credits: 2,
    sort_order: 0,
  };
  return JSON.stringify({ models: { ...models, 'flux-dev': flux } });
}

const pass = (params: string[]): string[] => params.flatMap((one) => ['-p', one]);

const UPSTREAMS = JSON.stringify({
  models: {
    'fal:fal-ai/flux/dev': {
      input: { prompt: '$prompt', size: '$size', steps: '$steps', guidance: '$guidance', fast: '$fast', note: '$note' },
    },
  },
});

describe('the command line and a configured catalog', () => {
  const service = useTestService({ env: { CATALOG: buildCatalog(), UPSTREAMS } });
  let customer: TestCustomer;
  const folder = useFolder();
  before(async () => {
    customer = await service.createCustomer('studio');
  });

  const run = (...args: string[]) =>
    new TestTerminal({ GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key }).run(...args);
  const create = async (...args: string[]): Promise<any> => {
    const { status, stdout, stderr } = await run('create', ...args, '--json');
    expect(status, stderr).to.equal(0);
    return JSON.parse(stdout);
  };

  it('passes parameters by the types of the model, and leaves its defaults to it', async () => {
    const params = pass(['size=wide', 'steps=12', 'guidance=3.5', 'fast=true', 'note=a=b 5']);
    expect((await create('image', 'A lighthouse', ...params)).params).to.deep.equal({
      size: 'wide',
      steps: 12,
      guidance: 3.5,
      fast: true,
      note: 'a=b 5',
    });
    expect((await create('image', 'A lighthouse')).params).to.deep.equal({ size: 'square', steps: 28, guidance: 1 });
  });

  it('refuses texts of another type, and lets the service refuse names and values', async () => {
    for (const [param, expected, message] of [
      ['steps=many', 2, 'steps must be a whole number, such as steps=5.'],
      ['steps=1.5', 2, 'steps must be a whole number'],
      ['guidance=', 2, 'guidance must be a number'],
      ['fast=yes', 2, 'Write fast=true or fast=false.'],
      ['steps=9', 1, 'steps'],
      ['colour=red', 1, 'colour'],
    ] as const) {
      const { status, stderr } = await run('create', 'image', 'A lighthouse', '-p', param);
      expect([status, stderr.includes(message)], `${param}: ${stderr}`).to.deep.equal([expected, true]);
    }
  });

  it('shows the parameters and images of a model', async () => {
    expect((await run('models', 'flux-dev')).stdout)
      .to.match(/^size +square wide +square +Format of the image\.$/m)
      .and.match(/^steps +10 to 50 +28$/m)
      .and.match(/^fast +true false +-$/m)
      .and.match(/^note +text of at most 20 characters +-$/m);
    expect((await run('models', 'animate')).stdout)
      .to.match(/^first_frame +image +required +first frame$/m)
      .and.match(/^end +image +- +last frame$/m);
    expect((await run('models', 'edit')).stdout).to.match(/^images +up to 3 images +- +reference$/m);
  });

  it('uploads the files of images, and passes several and references on', async () => {
    const [png, webp, text] = ['a.png', 'b.webp', 'c.png'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(png, await makeImage('png'));
    writeFileSync(webp, await makeImage('webp'));
    writeFileSync(text, 'not an image');
    const video = await create('video', 'Waves', '-p', 'duration=10', '--image', `first_frame=${png}`);
    expect(video.params.first_frame).to.match(/^upload:[0-9a-f-]{36}$/);
    expect(video).to.include({ credits_charged: 70 });
    const reference = video.params.first_frame as string;
    const edited = await create(
      'image',
      'Both',
      '-m',
      'edit',
      '--image',
      `images=${webp}`,
      '--image',
      `images=${reference}`,
    );
    expect(edited.params.images).to.have.length(2);
    expect(edited.params.images[1]).to.equal(reference);

    const balance = await customer.balance();
    const { status, stderr } = await run('create', 'video', 'Waves', '--image', `first_frame=${text}`);
    expect([status, stderr.startsWith(`Error: The image ${text} cannot be used.`)]).to.deep.equal([1, true]);
    expect(await customer.balance()).to.equal(balance);
  });
});
