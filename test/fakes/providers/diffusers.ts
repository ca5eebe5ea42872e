import { MP4, PNG } from '../misbehave.ts';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
} from './providerFake.ts';

const SIDE = { type: 'integer', minimum: 64, maximum: 4096, multipleOf: 8 };
const BASE64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+={0,2}$' };
const FIELDS = {
  model: { type: 'string' },
  prompt: { type: 'string' },
  width: SIDE,
  height: SIDE,
  seed: { type: 'integer', minimum: 0 },
  images: { type: 'array', items: BASE64 },
};
const REQUIRED = ['model', 'prompt', 'width', 'height', 'seed'];

/** The contract of docs/upstreams.md. */
const IMAGE_SCHEMA = { required: REQUIRED, properties: { ...FIELDS, mask: BASE64 } };
const VIDEO_SCHEMA = {
  required: [...REQUIRED, 'id', 'seconds'],
  properties: {
    ...FIELDS,
    id: { type: 'string', minLength: 36, maxLength: 36 },
    seconds: { type: 'number' },
    first_frame: BASE64,
    last_frame: BASE64,
  },
};

/** A server of one's own around Diffusers. */
export class FakeDiffusers extends ProviderFake {
  protected readonly unauthorized = { status: 401, body: { error: 'The key is wrong.' } };
  protected readonly notFound = { status: 404, body: { error: 'Not found.' } };
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/images$/,
      accepts: 'application/json',
      schema: IMAGE_SCHEMA,
      respond: ({ body }) => this.makeImage(body),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/videos$/,
      accepts: 'application/json',
      schema: VIDEO_SCHEMA,
      respond: ({ body }) => this.rejection ?? { status: 202, body: { id: this.accept(body).id } },
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/videos\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => this.getStatus(id),
    },
    {
      operation: 'cancel',
      method: 'DELETE',
      path: /^\/videos\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => this.cancel(id),
    },
    {
      operation: 'file',
      method: 'GET',
      path: /^\/videos\/(?<id>[\w-]+)\/content$/,
      respond: () => ({ file: MP4, type: 'video/mp4' }),
    },
    { operation: 'probe', method: 'GET', path: /^\/health$/, respond: () => ({ status: 200, body: { status: 'ok' } }) },
  ];

  protected invalid(problem: string): ProviderAnswer {
    return { status: 422, body: { error: problem } };
  }

  private get rejection(): ProviderAnswer | undefined {
    return this.rejectsPrompts ? { status: 400, body: { code: 'content_policy', error: 'Not allowed.' } } : undefined;
  }

  private makeImage(body: ProviderRequest['body']): ProviderAnswer {
    if (this.rejection !== undefined) return this.rejection;
    const { state } = this.accept(body);
    if (state === 'policy') return { status: 400, body: { code: 'content_policy', error: 'Not allowed.' } };
    return { file: PNG, type: 'image/png' };
  }

  private getStatus(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    if (job.state === 'policy') return { status: 200, body: { id, status: 'failed', code: 'content_policy' } };
    const error = job.state === 'failed' ? { error: 'The server is out of memory.' } : {};
    return { status: 200, body: { id, status: job.state, ...error } };
  }

  private cancel(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    if (job.state !== 'queued') return { status: 409, body: { id, status: job.state } };
    this.canceled.push(job.id);
    return { status: 200, body: { id, status: 'canceled' } };
  }
}

const fake = new FakeDiffusers();

export const DIFFUSERS: ProviderCase[] = [
  {
    provider: 'diffusers',
    fake,
    basePath: '',
    kind: 'image',
    model: 'black-forest-labs/FLUX.1-schnell',
    params: { aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
    body: (prompt, { seed }) => ({
      model: 'black-forest-labs/FLUX.1-schnell',
      prompt,
      width: 1344,
      height: 768,
      seed,
    }),
    references: { max: 4, fields: ['images'] },
  },
  {
    provider: 'diffusers',
    fake,
    basePath: '',
    kind: 'video',
    model: 'Wan-AI/Wan2.2-T2V-A14B-Diffusers',
    params: {
      duration: { enum: [5, 3] },
      resolution: { enum: ['480p', '720p', '1080p'] },
      aspect_ratio: { enum: ['16:9', '9:16'] },
    },
    body: (prompt, { id, seed }) => ({
      id,
      model: 'Wan-AI/Wan2.2-T2V-A14B-Diffusers',
      prompt,
      width: 832,
      height: 480,
      seconds: 5,
      seed,
    }),
    failure: 'The server is out of memory.',
    cancels: true,
  },
];
