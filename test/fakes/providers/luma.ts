import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderJob,
  type ProviderRequest,
  type ProviderRoute,
  servePublicFile,
} from './providerFake.ts';

const IMAGE = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: { url: { type: 'string', pattern: '^https?://' } },
};
const PROMPT = { type: 'string', minLength: 1, maxLength: 6_000 };
const VIDEO_OPTIONS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    duration: { enum: ['5s', '10s'] },
    resolution: { enum: ['540p', '720p', '1080p'] },
    start_frame: IMAGE,
    end_frame: IMAGE,
    loop: { type: 'boolean' },
    hdr: { type: 'boolean' },
  },
  // Frames are for videos of five seconds: https://docs.agents.lumalabs.ai/guides/videos/generation.
  anyOf: [{ properties: { duration: { const: '5s' } } }, { properties: { start_frame: false, end_frame: false } }],
};

/** `POST /v1/generations`, for the types that are described: lumalabs/luma-agents-python. */
const SCHEMA = {
  additionalProperties: true,
  oneOf: [
    {
      additionalProperties: false,
      required: ['prompt', 'model', 'type'],
      properties: {
        prompt: PROMPT,
        model: { const: 'ray-3.2' },
        type: { const: 'video' },
        aspect_ratio: { enum: ['9:16', '3:4', '1:1', '4:3', '16:9', '21:9'] },
        video: VIDEO_OPTIONS,
        user_id: { type: 'string' },
      },
    },
    {
      additionalProperties: false,
      required: ['prompt', 'model', 'type'],
      properties: {
        prompt: PROMPT,
        model: { enum: ['uni-1', 'uni-1-max'] },
        type: { const: 'image' },
        aspect_ratio: { enum: ['3:1', '2:1', '16:9', '3:2', '1:1', '2:3', '9:16', '1:2', '1:3'] },
        image_ref: { type: 'array', minItems: 1, maxItems: 9, items: IMAGE },
        output_format: { enum: ['png', 'jpeg'] },
        style: { enum: ['auto', 'manga'] },
        user_id: { type: 'string' },
        web_search: { type: 'boolean' },
      },
    },
  ],
};

const STATE = {
  queued: 'queued',
  running: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  policy: 'failed',
} as const;
const FAILURE = 'An input image could not be decoded.';

/** Luma Agents: one address for all kinds of generations, whose failures have a code. */
export class FakeLuma extends ProviderFake {
  protected readonly unauthorized = { status: 401, body: { detail: 'Invalid or missing API key' } };
  protected readonly notFound = { status: 404, body: { detail: 'Generation not found' } };
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/generations$/,
      accepts: 'application/json',
      schema: SCHEMA,
      respond: (request) => this.create(request),
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1\/generations\/(?<id>[\w-]+)$/,
      respond: (_request, { id }) => {
        const job = this.find(id);
        return job === undefined ? this.notFound : { status: 200, body: this.describe(job) };
      },
    },
    servePublicFile(/^\/presigned\/[\w-]+\.(?:mp4|png)$/),
  ];

  protected invalid(problem: string): ProviderAnswer {
    return { status: 400, body: { detail: problem } };
  }

  private create({ body }: ProviderRequest): ProviderAnswer {
    const job = this.accept(body);
    // Content is checked by the run: no response to a submit says that it is not allowed.
    if (this.rejectsPrompts) job.state = 'policy';
    return { status: 201, body: { ...this.describe(job), state: 'queued', output: [] } };
  }

  private describe({ id, input, state }: ProviderJob): object {
    const { model, type } = input;
    const common = { id, created_at: '2026-11-30T12:00:00Z', model, type, state: STATE[state], output: [] };
    switch (state) {
      case 'queued':
      case 'running':
        return common;
      case 'succeeded': {
        const url = `${this.url}/presigned/${id}.${type === 'video' ? 'mp4' : 'png'}`;
        return { ...common, output: [{ type, url }] };
      }
      case 'failed':
        return { ...common, failure_code: 'corrupt_input', failure_reason: FAILURE };
      case 'policy':
        return { ...common, failure_code: 'content_moderated', failure_reason: 'Prompt was moderated.' };
    }
  }
}

const CASE = { provider: 'luma', fake: new FakeLuma(), basePath: '/v1', failure: FAILURE };

export const LUMA: readonly ProviderCase[] = [
  {
    ...CASE,
    kind: 'video',
    model: 'ray-3.2',
    params: {
      duration: { enum: [5] },
      resolution: { enum: ['720p', '540p', '1080p'] },
      aspect_ratio: { enum: ['16:9', '9:16', '1:1'] },
    },
    body: (prompt) => ({
      model: 'ray-3.2',
      type: 'video',
      prompt,
      aspect_ratio: '16:9',
      video: { resolution: '720p', duration: '5s' },
    }),
    cents: 30,
    frames: {
      roles: ['first_frame', 'last_frame'],
      read: ({ video: { start_frame, end_frame } }) => [start_frame?.url, end_frame?.url],
    },
  },
  {
    ...CASE,
    kind: 'image',
    model: 'uni-1',
    params: { aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
    body: (prompt) => ({ model: 'uni-1', type: 'image', prompt, aspect_ratio: '16:9', output_format: 'png' }),
    cents: 4.04,
    references: { max: 9, fields: ['image_ref'] },
  },
];
