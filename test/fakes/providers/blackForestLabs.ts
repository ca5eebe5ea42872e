import { createHmac } from 'node:crypto';
import { PNG } from '../misbehave.ts';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
} from './providerFake.ts';

const SIDE = { type: 'integer', minimum: 64, multipleOf: 16 };
const IMAGE = { type: 'string', pattern: '^https?://' };

/** `POST /v1/flux-2-pro`: https://docs.bfl.ai, and the API skill of black-forest-labs/skills. */
const SCHEMA = {
  required: ['prompt'],
  properties: {
    prompt: { type: 'string' },
    width: SIDE,
    height: SIDE,
    seed: { type: 'integer' },
    safety_tolerance: { type: 'integer', minimum: 0, maximum: 5 },
    output_format: { enum: ['jpeg', 'png'] },
    webhook_url: { type: 'string', pattern: '^https?://' },
    webhook_secret: { type: 'string' },
    input_image: IMAGE,
    ...Object.fromEntries([2, 3, 4, 5, 6, 7, 8].map((number) => [`input_image_${number}`, IMAGE])),
  },
};

const STATUS = {
  queued: 'Pending',
  running: 'Pending',
  succeeded: 'Ready',
  failed: 'Error',
  policy: 'Content Moderated',
  canceled: 'Error',
} as const;

/** Black Forest Labs: the address to poll is in another region, and addresses of outputs are signed. */
export class FakeBlackForestLabs extends ProviderFake {
  /** Signature of the addresses that are valid now. */
  signature = 'signed';
  protected readonly unauthorized = { status: 403, body: { detail: 'Not authenticated - Invalid Authentication' } };
  protected readonly notFound = { status: 404, body: { detail: 'Not Found' } };
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/flux-2-(?:pro|max|flex|klein-4b|klein-9b)$/,
      accepts: 'application/json',
      schema: SCHEMA,
      respond: (request) => this.create(request),
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1\/get_result$/,
      respond: ({ query }) => this.getResult(query),
    },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/credits$/,
      respond: () => ({ status: 200, body: { credits: 500 } }),
    },
    {
      operation: 'file',
      method: 'GET',
      path: /^\/results\/[\w-]+\/sample\.png$/,
      isPublic: true,
      respond: ({ query }) =>
        query.get('sig') === this.signature ? { file: PNG, type: 'image/png' } : { status: 403 },
    },
  ];

  protected override isAuthorized({ headers }: ProviderRequest): boolean {
    return headers['x-key'] === this.key;
  }

  protected invalid(problem: string): ProviderAnswer {
    return { status: 422, body: { detail: [{ loc: ['body'], msg: problem, type: 'value_error' }] } };
  }

  private create({ body }: ProviderRequest): ProviderAnswer {
    const pixels = (body['width'] ?? 1024) * (body['height'] ?? 1024);
    if (pixels > 4_000_000) return this.refuse(this.invalid('more than 4 MP'), `${pixels} pixels`);
    const job = this.accept(body);
    if (this.rejectsPrompts) job.state = 'policy';
    const pollingUrl = `${this.url}/v1/get_result?id=${job.id}&region=eu2`;
    return { status: 200, body: { id: job.id, polling_url: pollingUrl, cost: 3, input_mp: 0, output_mp: 1.05 } };
  }

  private getResult(query: URLSearchParams): ProviderAnswer {
    const job = this.find(query.get('id'));
    if (job === undefined)
      return { status: 404, body: { id: query.get('id'), status: 'Task not found', result: null } };
    if (query.get('region') !== 'eu2') return this.refuse(this.notFound, 'not the polling_url of the response');
    const { id, input } = job;
    const sample = `${this.url}/results/${id}/sample.png?sig=${this.signature}`;
    const result = job.state === 'succeeded' ? { sample, prompt: input['prompt'], seed: 42 } : null;
    const error = job.state === 'failed' ? { error: 'The model ran out of luck.' } : {};
    return { status: 200, body: { id, status: STATUS[job.state], result, progress: null, details: null, ...error } };
  }
}

const SECRET = 'secret-of-the-call-backs';
const fake = new FakeBlackForestLabs();

export const BLACK_FOREST_LABS: ProviderCase = {
  provider: 'black-forest-labs',
  fake,
  basePath: '/v1',
  kind: 'image',
  model: 'flux-2-pro',
  params: { resolution: { enum: ['1K', '2K', '4K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
  settings: { callback_secret: SECRET },
  body: (prompt) => ({ prompt, width: 1376, height: 768, output_format: 'png' }),
  cents: 3,
  failure: 'The model ran out of luck.',
  callBack: ({ id, input }) => {
    const body = JSON.stringify({ id, status: 'Ready', result: { sample: 'https://invalid.example/' } });
    const signature = createHmac('sha256', input['webhook_secret']).update(body).digest('hex');
    return fetch(input['webhook_url'], { method: 'POST', headers: { 'x-bfl-signature': `sha256=${signature}` }, body });
  },
  references: { max: 8, fields: ['input_image', 'input_image_2'] },
};
