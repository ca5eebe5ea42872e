import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { formatFirstSteps } from '../../dev/local/stack/startupSummary.ts';
import { lintDocument } from '../harness/openapiLint.ts';
import { useTestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

const model = (name: string, more: object) => ({
  name,
  kind: 'image',
  description: `${name} from a text prompt.`,
  upstreams: ['fal:acme/images'],
  params: {},
  credits: 3,
  ...more,
});

const PHOTO_EDIT = model('Photo edits', {
  sort_order: 1,
  upstreams: ['fal:acme/edits'],
  inputs: { image: { role: 'reference', required: true } },
});
const PHOTO = model('Photos', {
  sort_order: 2,
  params: {
    resolution: { enum: ['1K'], required: true },
    aspect_ratio: { enum: ['1:1'], required: true },
    style: { enum: ["painter's", 'plain'], required: true },
    caption: { type: 'string', minimum: 9, maximum: 12, required: true },
    seed: { type: 'integer', minimum: 7, maximum: 90_000 },
    is_tiled: { type: 'boolean', required: true },
  },
  credits: { $by: 'style', "painter's": 1_250, plain: 2 },
});
const CLIP = model('Clips', {
  kind: 'video',
  upstreams: ['fal:acme/text-to-video'],
  params: {
    duration: { type: 'integer', minimum: 3, maximum: 9, required: true },
    resolution: { enum: ['720p'], default: '720p' },
    aspect_ratio: { enum: ['16:9'], default: '16:9' },
    audio: { type: 'boolean', default: true },
  },
  credits: { per_second: 2 },
});
const PLANS = {
  team: { name: 'Team', price_monthly_cents: 5_000, monthly_credits: 4_000, parallel_limit: 4 },
};
const UPSTREAMS = JSON.stringify({
  models: {
    'fal:acme/edits': { input: { prompt: '$prompt', image_url: '$reference' } },
    'fal:acme/images': { input: { prompt: '$prompt' } },
    'fal:acme/text-to-video': { input: { prompt: '$prompt' } },
  },
});

const CASES = [
  {
    catalog: { models: { 'edit-1': PHOTO_EDIT, 'photo-1': PHOTO, 'clip-1': CLIP }, plans: PLANS },
    title: 'images and videos',
    first: { model: 'photo-1', kind: 'image', credits: 1_250 },
    examples: ['image', 'video'],
  },
  {
    catalog: { models: { 'clip-1': CLIP, 'internal-1': { ...PHOTO, hidden: true } }, plans: PLANS },
    title: 'videos and a hidden image model',
    first: { model: 'clip-1', kind: 'video', credits: 6 },
    examples: ['video'],
  },
];

for (const { catalog, title, first, examples } of CASES) {
  describe(`the examples of a service with a catalog of ${title}`, () => {
    const CATALOG = JSON.stringify(catalog);
    const service = useTestService({ env: { CATALOG, UPSTREAMS } });
    const folder = useFolder();

    it('contain requests with its models, which it accepts at the shown price', async () => {
      const { body: document } = await service.request('GET', '/api/openapi.json');
      expect(await lintDocument(document)).to.deep.equal([]);
      expect(JSON.stringify(document)).to.not.match(/imgmodel-2|vidmodel-video|Image model|internal-1/);
      const operations = (path: string) => document.paths[path].post;
      const shown = operations('/api/generations/create/').requestBody.content['application/json'].examples;
      expect(Object.keys(shown)).to.deep.equal(examples);
      const customer = await service.createCustomer('team');
      for (const { value } of Object.values<any>(shown)) {
        const estimate = await customer.request('POST', '/api/generations/estimate/', { body: value });
        expect(estimate.status, JSON.stringify(estimate.body)).to.equal(200);
        expect(estimate.body.affordable).to.equal(true);
      }
      const { requestBody, responses } = operations('/api/generations/estimate/');
      const { usual } = requestBody.content['application/json'].examples;
      const { value: expected } = responses['200'].content['application/json'].examples.usual;
      const { body } = await customer.request('POST', '/api/generations/estimate/', { body: usual.value });
      expect(body).to.include({ model: first.model, credits: first.credits });
      expect(body.params).to.deep.equal(expected.params);
      expect(expected.credits).to.equal(first.credits);
    });

    it('let the commands that npm start prints create a first generation', async () => {
      const text = formatFirstSteps({ BASE_URL: service.baseUrl, STRIPE_SECRET_KEY: undefined, CATALOG }, folder);
      expect(text).to.include(`Create a first ${first.kind}, in another terminal`).and.to.include('{"plan":"team"}');
      const commands = text.split('\n').filter((line) => /^ {2}(curl|UUID=)/.test(line));
      const { stdout } = await promisify(execFile)('bash', ['-ec', commands.join('\n')]);
      expect(JSON.parse(stdout.slice(stdout.lastIndexOf('{"uuid"')))).to.include({
        model: first.model,
        kind: first.kind,
        status: 'succeeded',
        credits_charged: first.credits,
      });
    });
  });
}
