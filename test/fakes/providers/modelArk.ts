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

const IMAGE_CONTENT = {
  ...strict,
  required: ['type', 'image_url'],
  properties: {
    type: { const: 'image_url' },
    image_url: { ...strict, required: ['url'], properties: { url: ADDRESS } },
    role: { enum: ['first_frame', 'last_frame', 'reference_image'] },
  },
};
const TEXT_CONTENT = {
  ...strict,
  required: ['type', 'text'],
  properties: { type: { const: 'text' }, text: { type: 'string' } },
};

const withRole = (role: string) => ({ contains: { required: ['role'], properties: { role: { const: role } } } });

/**
 * `POST /contents/generations/tasks`: https://docs.byteplus.com/en/docs/ModelArk/1520757, and
 * byteplus-sdk/byteplus-python-sdk-v2. References are for the models from 2.0 on, and sound for those from 1.5 on.
 */
const VIDEO_SCHEMA = {
  required: ['model', 'content'],
  properties: {
    model: { enum: ['dreamina-seedance-2-0-260128', 'seedance-1-5-pro-251215', 'seedance-1-0-pro-250528'] },
    content: {
      type: 'array',
      items: { oneOf: [TEXT_CONTENT, IMAGE_CONTENT] },
      not: { allOf: [withRole('reference_image'), { anyOf: [withRole('first_frame'), withRole('last_frame')] }] },
      anyOf: [{ not: withRole('last_frame') }, withRole('first_frame')],
    },
    ratio: { enum: ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'] },
    resolution: { enum: ['480p', '720p', '1080p', '4k'] },
    duration: { type: 'integer', minimum: 2, maximum: 15 },
    seed: { type: 'integer', minimum: -1 },
    watermark: { type: 'boolean' },
    generate_audio: { type: 'boolean' },
    callback_url: { type: 'string', pattern: '^https?://' },
  },
  allOf: [
    {
      anyOf: [
        { not: { properties: { content: withRole('reference_image') } } },
        { properties: { model: { pattern: '^dreamina-' } } },
      ],
    },
    {
      anyOf: [
        { not: { required: ['generate_audio'] } },
        { not: { properties: { model: { pattern: '^seedance-1-0-' } } } },
      ],
    },
  ],
};

/** `POST /images/generations`: https://docs.byteplus.com/en/docs/ModelArk/1541523. */
const IMAGE_SCHEMA = {
  required: ['model', 'prompt'],
  properties: {
    model: { enum: ['seedream-4-5-251128'] },
    prompt: { type: 'string', minLength: 1 },
    image: { anyOf: [ADDRESS, { type: 'array', minItems: 1, maxItems: 14, items: ADDRESS }] },
    size: { type: 'string', pattern: '^(?:[24]K|\\d{3,4}x\\d{3,4})$' },
    response_format: { enum: ['url', 'b64_json'] },
    watermark: { type: 'boolean' },
    sequential_image_generation: { enum: ['auto', 'disabled'] },
    sequential_image_generation_options: {
      ...strict,
      properties: { max_images: { type: 'integer', minimum: 1, maximum: 15 } },
    },
  },
};
/** Pixels of an image of Seedream 4.5. */
const PIXELS = { min: 3_686_400, max: 16_777_216 };

const OUTPUT_REFUSED = {
  code: 'OutputVideoSensitiveContentDetected',
  message: 'The request failed because the output video may contain sensitive information.',
};

/** BytePlus ModelArk: tasks for videos, and images in the response. */
export class FakeModelArk extends ProviderFake {
  protected readonly unauthorized = this.error(
    401,
    'AuthenticationError',
    'The API key or AK/SK is missing or invalid.',
  );
  protected readonly notFound = this.error(404, 'NotFound', 'The specified resource is not found.');
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/api\/v3\/contents\/generations\/tasks$/,
      accepts: 'application/json',
      schema: VIDEO_SCHEMA,
      respond: ({ body }) =>
        this.rejectsPrompts ? this.refusePrompt() : { status: 200, body: { id: this.accept(body).id } },
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/api\/v3\/contents\/generations\/tasks\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => {
        const job = this.find(id);
        return job === undefined ? this.notFound : { status: 200, body: this.describe(job) };
      },
    },
    {
      operation: 'cancel',
      method: 'DELETE',
      path: /^\/api\/v3\/contents\/generations\/tasks\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => this.cancel(id as string),
    },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/api\/v3\/contents\/generations\/tasks$/,
      respond: () => ({ status: 200, body: { total: 0, items: [] } }),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/api\/v3\/images\/generations$/,
      accepts: 'application/json',
      schema: IMAGE_SCHEMA,
      respond: (request) => this.generate(request),
    },
    servePublicFile(/^\/files\/video\.mp4$/),
    servePublicFile(/^\/files\/image\.png$/),
  ];

  protected invalid(problem: string): ProviderAnswer {
    return this.error(400, 'InvalidParameter', problem);
  }

  private error(status: number, code: string, message: string): ProviderAnswer {
    return { status, body: { error: { code, message, param: '', type: 'BadRequest' } } };
  }

  private refusePrompt(): ProviderAnswer {
    const message = 'The request failed because the input text may contain sensitive information.';
    return this.error(400, 'InputTextSensitiveContentDetected', message);
  }

  /** The task, as a poll returns it and a call-back contains it. */
  describe({ id, input, state }: ProviderJob): object {
    const task = { id, model: input['model'], created_at: 1_780_000_000, updated_at: 1_780_000_060, error: null };
    switch (state) {
      case 'failed':
        return { ...task, status: 'failed', error: { code: 'InvalidParameter', message: 'The image is too small.' } };
      case 'policy':
        return { ...task, status: 'failed', error: OUTPUT_REFUSED };
      case 'succeeded':
        return { ...task, status: 'succeeded', content: { video_url: `${this.url}/files/video.mp4` } };
      default:
        return { ...task, status: this.canceled.includes(task.id) ? 'cancelled' : state };
    }
  }

  private cancel(id: string): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    if (job.state === 'running') return this.error(409, 'InvalidAction.RunningTaskDeletion', 'The task is running.');
    this.canceled.push(job.id);
    return { status: 200, body: {} };
  }

  private generate({ body }: ProviderRequest): ProviderAnswer {
    const [width = 0, height = 0] = String(body['size']).split('x').map(Number);
    if (width * height < PIXELS.min || width * height > PIXELS.max)
      return this.refuse(this.invalid('size'), `size ${body['size']}`);
    if (this.rejectsPrompts) return this.refusePrompt();
    const { state } = this.accept(body);
    const error = { code: 'OutputImageSensitiveContentDetected', message: 'The output image may be sensitive.' };
    const entry = state === 'policy' ? { error } : { url: `${this.url}/files/image.png`, size: body['size'] };
    const usage = { generated_images: state === 'policy' ? 0 : 1 };
    return { status: 200, body: { model: body['model'], created: 1_780_000_000, data: [entry], usage } };
  }
}

const fake = new FakeModelArk();
const listRoles = ({ content }: Record<string, any>) =>
  content.map(({ type, role }: Record<string, string>) => role ?? type);

const MODEL_ARK_VIDEO: ProviderCase = {
  provider: 'modelark',
  fake,
  basePath: '/api/v3',
  kind: 'video',
  model: 'dreamina-seedance-2-0-260128',
  params: {
    duration: { enum: [5, 10, 15] },
    resolution: { enum: ['720p', '480p', '1080p', '4k'] },
    aspect_ratio: { enum: ['16:9', '1:1', '9:16'] },
    audio: { type: 'boolean', default: true },
  },
  body: (prompt) => ({
    model: 'dreamina-seedance-2-0-260128',
    content: [{ type: 'text', text: prompt }],
    ratio: '16:9',
    resolution: '720p',
    duration: 5,
    watermark: false,
    generate_audio: true,
  }),
  failure: 'The image is too small.',
  cancels: true,
  callBack: (job) => fetch(job.input['callback_url'], { method: 'POST', body: JSON.stringify(fake.describe(job)) }),
  images: [
    {
      inputs: { first_frame: { role: 'first_frame' }, last_frame: { role: 'last_frame' } },
      read: listRoles,
      expected: ['text', 'first_frame', 'last_frame'],
    },
    {
      inputs: { first_frame: { role: 'first_frame' } },
      model: 'seedance-1-0-pro-250528',
      params: {
        duration: { enum: [5] },
        resolution: { enum: ['720p'] },
        aspect_ratio: { enum: ['16:9'] },
      },
      read: listRoles,
      expected: ['text', 'first_frame'],
    },
    {
      inputs: { images: { role: 'reference', max: 9 } },
      read: listRoles,
      expected: ['text', 'reference_image', 'reference_image'],
    },
  ],
};

const MODEL_ARK_IMAGE: ProviderCase = {
  provider: 'modelark',
  fake,
  basePath: '/api/v3',
  kind: 'image',
  model: 'seedream-4-5-251128',
  params: { resolution: { enum: ['2K', '4K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
  body: (prompt) => ({
    model: 'seedream-4-5-251128',
    prompt,
    size: '2560x1440',
    response_format: 'url',
    watermark: false,
  }),
  images: [
    {
      inputs: { images: { role: 'reference', max: 14 } },
      read: ({ image }) => image.length,
      expected: 2,
    },
  ],
};

export const MODEL_ARK = [MODEL_ARK_VIDEO, MODEL_ARK_IMAGE];
