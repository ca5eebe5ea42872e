import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderJob,
  type ProviderRequest,
  type ProviderRoute,
  servePublicFile,
} from './providerFake.ts';

/** The real API takes https only. */
const URI = { type: 'string', pattern: '^https?://', minLength: 13, maxLength: 2_048 };
const PROMPT = { type: 'string', minLength: 1, maxLength: 1_000 };
const SEED = { type: 'integer', minimum: 0, maximum: 4_294_967_295 };
const GEN4_DURATION = { type: 'integer', minimum: 2, maximum: 10 };
const GEN4_RATIO = { enum: ['1280:720', '720:1280', '1104:832', '960:960', '832:1104', '1584:672'] };
const VEO = {
  promptText: PROMPT,
  ratio: { enum: ['1280:720', '720:1280', '1080:1920', '1920:1080'] },
  audio: { type: 'boolean' },
  duration: { enum: [4, 6, 8] },
};

const promptImages = (positions: string[], maxItems: number) => ({
  type: 'array',
  minItems: 1,
  maxItems,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['uri', 'position'],
    properties: { uri: URI, position: { enum: positions } },
  },
});

const byModel = (models: Record<string, { required: string[]; properties: object }>) => ({
  additionalProperties: true,
  oneOf: Object.entries(models).map(([model, { required, properties }]) => ({
    additionalProperties: false,
    required: ['model', ...required],
    properties: { model: { const: model }, ...properties },
  })),
});

/** Bodies of the endpoints: the OpenAPI document of Runway, in tryAGI/Runway, with the models that are described. */
const TEXT_TO_VIDEO = byModel({
  'gen4.5': {
    required: ['promptText', 'ratio', 'duration'],
    properties: {
      promptText: PROMPT,
      ratio: { enum: ['1280:720', '720:1280'] },
      duration: GEN4_DURATION,
      seed: SEED,
    },
  },
  'veo3.1': { required: ['promptText', 'ratio'], properties: VEO },
});
const IMAGE_TO_VIDEO = byModel({
  'gen4.5': {
    required: ['promptText', 'promptImage', 'ratio', 'duration'],
    properties: {
      promptText: PROMPT,
      promptImage: promptImages(['first'], 1),
      ratio: GEN4_RATIO,
      duration: GEN4_DURATION,
      seed: SEED,
    },
  },
  gen4_turbo: {
    required: ['promptImage', 'ratio'],
    properties: {
      promptText: PROMPT,
      promptImage: promptImages(['first'], 1),
      ratio: GEN4_RATIO,
      duration: GEN4_DURATION,
      seed: SEED,
    },
  },
  'veo3.1': {
    required: ['promptImage', 'ratio'],
    properties: { ...VEO, promptImage: promptImages(['first', 'last'], 2) },
  },
});
const TEXT_TO_IMAGE = byModel({
  gen4_image: {
    required: ['promptText', 'ratio'],
    properties: {
      promptText: PROMPT,
      ratio: {
        enum: ['1024:1024', '1080:1080', '1360:768', '1920:1080', '1080:1920', '1280:720', '720:1280', '720:720'],
      },
      seed: SEED,
      referenceImages: {
        type: 'array',
        maxItems: 3,
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['uri'],
          properties: { uri: URI, tag: { type: 'string', pattern: '^[a-z][a-z0-9_]+$' } },
        },
      },
    },
  },
});

const STATUS = { queued: 'THROTTLED', running: 'RUNNING', succeeded: 'SUCCEEDED', failed: 'FAILED', policy: 'FAILED' };
const CREDITS = 60;
const FAILURE = 'The model could not follow the first frame.';

/** Runway: every request names the version of the API, and a task that is canceled is not found afterwards. */
export class FakeRunway extends ProviderFake {
  protected readonly unauthorized = { status: 401, body: { error: 'The provided API key is not valid.' } };
  protected readonly notFound = { status: 404, body: { error: 'Not found' } };
  protected readonly routes: ProviderRoute[] = [
    ...Object.entries({
      text_to_video: TEXT_TO_VIDEO,
      image_to_video: IMAGE_TO_VIDEO,
      text_to_image: TEXT_TO_IMAGE,
    }).map(
      ([name, schema]): ProviderRoute => ({
        operation: 'submit',
        method: 'POST',
        path: new RegExp(`^/v1/${name}$`),
        accepts: 'application/json',
        schema,
        respond: (request) => this.create(request),
      }),
    ),
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1\/tasks\/(?<id>[\w-]+)$/,
      respond: (request, { id }) => this.versioned(request, () => this.getTask(id)),
    },
    {
      operation: 'cancel',
      method: 'DELETE',
      path: /^\/v1\/tasks\/(?<id>[\w-]+)$/,
      respond: (request, { id }) => this.versioned(request, () => this.cancel(id)),
    },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/organization$/,
      respond: (request) =>
        this.versioned(request, () => ({ status: 200, body: { creditBalance: 1_000, tier: {}, usage: {} } })),
    },
    servePublicFile(/^\/outputs\/[\w-]+\.(?:mp4|png)$/),
  ];

  protected invalid(problem: string): ProviderAnswer {
    const issues = [{ code: 'invalid_value', path: ['body'], message: problem }];
    return { status: 400, body: { error: 'Validation of body failed', issues } };
  }

  private versioned({ headers }: ProviderRequest, respond: () => ProviderAnswer): ProviderAnswer {
    if (headers['x-runway-version'] === '2024-11-06') return respond();
    return this.refuse(this.invalid('X-Runway-Version'), `version ${String(headers['x-runway-version'])}`);
  }

  private create(request: ProviderRequest): ProviderAnswer {
    return this.versioned(request, () => {
      const job = this.accept(request.body);
      // Content is checked by the task: no response to a submit says that it is not allowed.
      if (this.rejectsPrompts) job.state = 'policy';
      return { status: 200, body: { id: job.id, estimatedCost: { credits: CREDITS } } };
    });
  }

  private cancel(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined || this.canceled.includes(job.id)) return this.notFound;
    this.canceled.push(job.id);
    return { status: 204 };
  }

  private getTask(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    const common = { id: job.id, createdAt: '2026-11-30T12:00:00.000Z' };
    if (this.canceled.includes(job.id))
      return { status: 200, body: { ...common, status: 'CANCELLED', cost: { credits: 0 } } };
    return { status: 200, body: { ...common, status: STATUS[job.state], ...this.describe(job) } };
  }

  private describe({ id, input, state }: ProviderJob): object {
    const type = 'duration' in input ? 'mp4' : 'png';
    const cost = { credits: CREDITS };
    switch (state) {
      case 'queued':
        return { estimatedCost: cost };
      case 'running':
        return { estimatedCost: cost, progress: 0.4 };
      case 'succeeded':
        return { output: [`${this.url}/outputs/${id}.${type}`], cost };
      case 'failed':
        return { failure: FAILURE, failureCode: 'INTERNAL.BAD_OUTPUT.CODE01', cost: { credits: 0 } };
      case 'policy':
        return { failure: 'Content moderation', failureCode: 'SAFETY.INPUT.TEXT', cost };
    }
  }
}

const COMMON = { provider: 'runway', fake: new FakeRunway(), basePath: '/v1', cents: CREDITS, failure: FAILURE };

export const RUNWAY: readonly ProviderCase[] = [
  {
    ...COMMON,
    kind: 'video',
    model: 'gen4.5',
    params: {
      duration: { enum: [5, 10] },
      resolution: { enum: ['720p'] },
      aspect_ratio: { enum: ['16:9', '9:16'] },
    },
    body: (prompt) => ({ model: 'gen4.5', promptText: prompt, duration: 5, ratio: '1280:720' }),
    frames: {
      roles: ['first_frame'],
      read: ({ promptImage }) => (promptImage as { uri: string }[]).map(({ uri }) => uri),
    },
    cancels: true,
  },
  {
    ...COMMON,
    kind: 'image',
    model: 'gen4_image',
    params: { resolution: { enum: ['1K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
    body: (prompt) => ({ model: 'gen4_image', promptText: prompt, ratio: '1280:720' }),
    references: { max: 3, fields: ['referenceImages'] },
  },
];
