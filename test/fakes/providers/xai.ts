import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderJob,
  type ProviderRequest,
  type ProviderRoute,
  servePublicFile,
} from './providerFake.ts';

const strict = { type: 'object', additionalProperties: false };
const ADDRESS = { type: 'string', pattern: '^(?:https?://|data:image/[a-z]+;base64,)' };
const IMAGE = {
  ...strict,
  required: ['url'],
  properties: { url: ADDRESS, type: { const: 'image_url' } },
};
const MODELS = ['grok-imagine-image', 'grok-imagine-image-2.0', 'grok-imagine-image-quality'];
const RATIOS = [
  '1:1',
  '3:4',
  '4:3',
  '9:16',
  '16:9',
  '2:3',
  '3:2',
  '9:19.5',
  '19.5:9',
  '9:20',
  '20:9',
  '1:2',
  '2:1',
  'auto',
];

const IMAGE_FIELDS = {
  model: { enum: MODELS },
  prompt: { type: 'string', minLength: 1 },
  n: { type: 'integer', minimum: 1, maximum: 10 },
  aspect_ratio: { enum: RATIOS },
  resolution: { enum: ['1k', '2k'] },
  quality: { enum: ['low', 'medium', 'high'] },
  response_format: { enum: ['url', 'b64_json'] },
  user: { type: 'string' },
};

/** `POST /v1/images/generations`: https://docs.x.ai/developers/rest-api-reference/inference/images. */
const GENERATION_SCHEMA = { required: ['prompt'], properties: IMAGE_FIELDS };
/** `POST /v1/images/edits`, with up to 3 images: as `images` of xai-org/xai-sdk-python, one or several. */
const EDIT_SCHEMA = {
  required: ['prompt'],
  properties: { ...IMAGE_FIELDS, image: IMAGE, images: { type: 'array', minItems: 1, maxItems: 3, items: IMAGE } },
  oneOf: [{ required: ['image'] }, { required: ['images'] }],
};

const OF_15 = { properties: { model: { const: 'grok-imagine-video-1.5' } } };

/**
 * `POST /v1/videos/generations`: https://docs.x.ai/developers/model-capabilities/video/generation. A first frame and
 * references exclude each other; references, and 1080p without them, are for version 1.5.
 */
const VIDEO_SCHEMA = {
  required: ['prompt'],
  properties: {
    model: { enum: ['grok-imagine-video', 'grok-imagine-video-1.5'] },
    prompt: { type: 'string', minLength: 1 },
    duration: { type: 'integer', minimum: 1, maximum: 15 },
    aspect_ratio: { enum: ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'] },
    resolution: { enum: ['480p', '720p', '1080p'] },
    image: IMAGE,
    reference_images: { type: 'array', minItems: 1, maxItems: 7, items: IMAGE },
    user: { type: 'string' },
  },
  not: { required: ['image', 'reference_images'] },
  allOf: [
    { anyOf: [{ properties: { resolution: { enum: ['480p', '720p'] } } }, OF_15] },
    { anyOf: [{ not: { required: ['reference_images'] } }, OF_15] },
    {
      anyOf: [{ not: { required: ['reference_images'] } }, { properties: { resolution: { enum: ['480p', '720p'] } } }],
    },
  ],
};

const INVALID = 'Client specified an invalid argument';

/** xAI: images in the response, and a deferred request for a video. */
export class FakeXai extends ProviderFake {
  protected readonly unauthorized = this.error(400, INVALID, 'Incorrect API key provided: wr***ng.');
  protected readonly notFound = this.error(404, 'Some requested entity was not found', 'Not found.');
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/images\/generations$/,
      accepts: 'application/json',
      schema: GENERATION_SCHEMA,
      respond: (request) => this.generate(request),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/images\/edits$/,
      accepts: 'application/json',
      schema: EDIT_SCHEMA,
      respond: (request) => this.generate(request),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1\/videos\/generations$/,
      accepts: 'application/json',
      schema: VIDEO_SCHEMA,
      respond: ({ body }) =>
        this.rejectsPrompts ? this.refusePrompt() : { status: 200, body: { request_id: this.accept(body).id } },
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1\/videos\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => {
        const job = this.find(id);
        return job === undefined ? this.notFound : this.describe(job);
      },
    },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/models$/,
      respond: () => ({ status: 200, body: { object: 'list', data: [] } }),
    },
    servePublicFile(/^\/files\/video\.mp4$/),
    servePublicFile(/^\/files\/image\.png$/),
  ];

  protected invalid(problem: string): ProviderAnswer {
    return this.error(422, 'Failed to deserialize the JSON body into the target type', problem);
  }

  private error(status: number, code: string, error: string): ProviderAnswer {
    return { status, body: { code, error } };
  }

  private refusePrompt(): ProviderAnswer {
    const error = 'Content violates usage guidelines. Team: t, API key ID: k, Failed check: SAFETY_CHECK_TYPE_X';
    return this.error(403, 'The caller does not have permission to execute the specified operation', error);
  }

  /** A dollar is 10 billion ticks. */
  private generate({ body }: ProviderRequest): ProviderAnswer {
    if (this.rejectsPrompts) return this.error(400, INVALID, 'Generated image rejected by content moderation.');
    const { state } = this.accept(body);
    const image = { url: `${this.url}/files/image.png`, b64_json: null, mime_type: 'image/png', revised_prompt: '' };
    const entry = state === 'policy' ? { ...image, url: null, respect_moderation: false } : image;
    const data = Array.from({ length: body['n'] ?? 1 }, () => entry);
    return { status: 200, body: { block_reason: null, data, usage: { cost_in_usd_ticks: 200_000_000 } } };
  }

  private describe({ input, state }: ProviderJob): ProviderAnswer {
    const about = { model: input['model'], usage: { cost_in_usd_ticks: 4_000_000_000 } };
    const video = { duration: input['duration'], respect_moderation: true };
    switch (state) {
      case 'queued':
      case 'running':
        return { status: 202, body: { status: 'pending', progress: 12 } };
      case 'policy':
        return {
          status: 200,
          body: { ...about, status: 'done', video: { ...video, url: '', respect_moderation: false } },
        };
      case 'succeeded':
        return {
          status: 200,
          body: { ...about, status: 'done', progress: 100, video: { ...video, url: `${this.url}/files/video.mp4` } },
        };
      default:
        return {
          status: 200,
          body: { status: 'failed', error: { code: 'invalid_argument', message: 'The image is too small.' } },
        };
    }
  }
}

const fake = new FakeXai();

const XAI_VIDEO: ProviderCase = {
  provider: 'xai',
  fake,
  basePath: '/v1',
  kind: 'video',
  model: 'grok-imagine-video-1.5',
  params: {
    duration: { enum: [5, 1, 15] },
    resolution: { enum: ['720p', '480p', '1080p'] },
    aspect_ratio: { enum: ['16:9', '1:1', '9:16'] },
  },
  body: (prompt) => ({
    model: 'grok-imagine-video-1.5',
    prompt,
    duration: 5,
    resolution: '720p',
    aspect_ratio: '16:9',
  }),
  cents: 40,
  failure: 'The image is too small.',
  images: [
    {
      inputs: { first_frame: { role: 'first_frame' } },
      read: ({ image }) => Object.keys(image),
      expected: ['url'],
    },
    {
      inputs: { images: { role: 'reference', max: 7 } },
      params: { duration: { enum: [5] }, resolution: { enum: ['720p'] }, aspect_ratio: { enum: ['16:9'] } },
      read: ({ reference_images: references }) => references.length,
      expected: 2,
    },
  ],
};

const XAI_IMAGE: ProviderCase = {
  provider: 'xai',
  fake,
  basePath: '/v1',
  kind: 'image',
  model: 'grok-imagine-image',
  params: { resolution: { enum: ['1K', '2K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
  body: (prompt) => ({
    model: 'grok-imagine-image',
    prompt,
    aspect_ratio: '16:9',
    resolution: '1k',
    response_format: 'url',
  }),
  cents: 2,
  images: [
    {
      inputs: { images: { role: 'reference', max: 3 } },
      read: ({ images }) => images.length,
      expected: 2,
    },
  ],
};

export const XAI = [XAI_VIDEO, XAI_IMAGE];
