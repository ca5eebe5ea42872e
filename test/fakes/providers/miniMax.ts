import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
  servePublicFile,
} from './providerFake.ts';

const IMAGE = { type: 'string', pattern: '^(?:https?://|data:image/)' };
const SIDE = { type: 'integer', minimum: 512, maximum: 2_048, multipleOf: 8 };

/** `POST /v1/video_generation`: the OpenAPI document of tryAGI/MiniMax. Only Hailuo 02 has a last frame. */
const VIDEO = {
  required: ['model'],
  properties: {
    model: { enum: ['MiniMax-Hailuo-2.3', 'MiniMax-Hailuo-2.3-Fast', 'MiniMax-Hailuo-02'] },
    prompt: { type: 'string', maxLength: 2_000 },
    prompt_optimizer: { type: 'boolean' },
    first_frame_image: IMAGE,
    last_frame_image: IMAGE,
    duration: { enum: [6, 10] },
    resolution: { enum: ['512P', '768P', '1080P'] },
    callback_url: { type: 'string' },
  },
  allOf: [
    { anyOf: [{ properties: { resolution: { enum: ['512P', '768P'] } } }, { properties: { duration: { const: 6 } } }] },
    {
      anyOf: [
        { properties: { last_frame_image: false } },
        { properties: { model: { const: 'MiniMax-Hailuo-02' } }, required: ['first_frame_image'] },
      ],
    },
  ],
};
/** `POST /v1/image_generation`: https://platform.minimax.io/docs/api-reference/image-generation-t2i. */
const IMAGES = {
  required: ['model', 'prompt'],
  properties: {
    model: { enum: ['image-01'] },
    prompt: { type: 'string', maxLength: 1_500 },
    aspect_ratio: { enum: ['1:1', '16:9', '4:3', '3:2', '2:3', '3:4', '9:16', '21:9'] },
    width: SIDE,
    height: SIDE,
    response_format: { enum: ['url', 'base64'] },
    n: { type: 'integer', minimum: 1, maximum: 9 },
    seed: { type: 'integer' },
    subject_reference: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['type', 'image_file'],
        properties: { type: { const: 'character' }, image_file: IMAGE },
      },
    },
  },
  dependentRequired: { width: ['height'], height: ['width'] },
};

const STATUS = {
  queued: 'Queueing',
  running: 'Processing',
  succeeded: 'Success',
  failed: 'Fail',
  policy: 'Fail',
} as const;

/** MiniMax: errors have the status 200, and a video is a file with an address of its own. */
export class FakeMiniMax extends ProviderFake {
  protected readonly unauthorized = this.answer(1_004, 'login fail: please carry the API secret key');
  protected readonly notFound = { status: 404, body: '404 page not found' };
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/video_generation$/,
      accepts: 'application/json',
      schema: VIDEO,
      respond: ({ body }) => (this.rejectsPrompts ? this.reject() : this.succeed({ task_id: this.accept(body).id })),
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1\/query\/video_generation$/,
      respond: ({ query }) => this.getTask(query.get('task_id')),
    },
    {
      operation: 'result',
      method: 'GET',
      path: /^\/v1\/files\/retrieve$/,
      respond: ({ query }) => this.getFile(query.get('file_id')),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/image_generation$/,
      accepts: 'application/json',
      schema: IMAGES,
      respond: (request) => this.makeImage(request),
    },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/files\/list$/,
      respond: () => this.succeed({ files: [] }),
    },
    servePublicFile(/^\/download\/[\w-]+\.(?:mp4|png)$/),
  ];

  protected invalid(problem: string): ProviderAnswer {
    return this.answer(2_013, `invalid params, ${problem}`);
  }

  private answer(code: number, message: string, fields: object = {}): ProviderAnswer {
    return { status: 200, body: { ...fields, base_resp: { status_code: code, status_msg: message } } };
  }

  private succeed(fields: object): ProviderAnswer {
    return this.answer(0, 'success', fields);
  }

  private reject(): ProviderAnswer {
    return this.answer(1_026, 'input new_sensitive', { task_id: '' });
  }

  private getTask(id: string | null): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.refuse(this.answer(2_013, 'invalid task_id'), `no task ${id}`);
    const task = { task_id: job.id, status: STATUS[job.state], file_id: '' };
    if (job.state === 'policy') return this.answer(1_027, 'output new_sensitive', task);
    return this.succeed(job.state === 'succeeded' ? { ...task, file_id: `file-${job.id}` } : task);
  }

  private getFile(id: string | null): ProviderAnswer {
    const job = this.find(id?.replace('file-', ''));
    if (job?.state !== 'succeeded') return this.refuse(this.answer(2_013, 'invalid file_id'), `no file ${id}`);
    return this.succeed({ file: { file_id: id, download_url: `${this.url}/download/${job.id}.mp4` } });
  }

  private makeImage({ body }: ProviderRequest): ProviderAnswer {
    if (this.rejectsPrompts) return this.reject();
    const job = this.accept(body);
    if (job.state === 'policy')
      return this.succeed({
        id: job.id,
        data: { image_urls: [] },
        metadata: { success_count: '0', failed_count: '1' },
      });
    const urls = [`${this.url}/download/${job.id}.png`];
    return this.succeed({
      id: job.id,
      data: { image_urls: urls },
      metadata: { success_count: '1', failed_count: '0' },
    });
  }
}

const CASE = { provider: 'minimax', fake: new FakeMiniMax(), basePath: '/v1' };

export const MINIMAX: readonly ProviderCase[] = [
  {
    ...CASE,
    kind: 'video',
    model: 'MiniMax-Hailuo-02',
    params: { duration: { enum: [6, 10] }, resolution: { enum: ['720p'] } },
    body: (prompt) => ({ model: 'MiniMax-Hailuo-02', prompt, duration: 6, resolution: '768P' }),
    cents: 28,
    failure: 'The model failed while generating. Please try again.',
    frames: {
      roles: ['first_frame', 'last_frame'],
      read: ({ first_frame_image, last_frame_image }) => [first_frame_image, last_frame_image],
    },
  },
  {
    ...CASE,
    kind: 'image',
    model: 'image-01',
    params: { resolution: { enum: ['1K', '2K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
    body: (prompt) => ({ model: 'image-01', prompt, width: 1280, height: 720, response_format: 'url' }),
    references: { max: 1, fields: ['subject_reference'] },
  },
];
