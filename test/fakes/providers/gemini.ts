import { MP4, PNG } from '../misbehave.ts';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
} from './providerFake.ts';

const strict = { type: 'object', additionalProperties: false };
const BASE64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+={0,2}$' };
const TYPE = { enum: ['image/png', 'image/jpeg', 'image/webp'] };
const IMAGE = {
  ...strict,
  required: ['bytesBase64Encoded', 'mimeType'],
  properties: { bytesBase64Encoded: BASE64, mimeType: TYPE },
};
const REFERENCE = {
  ...strict,
  required: ['image', 'referenceType'],
  properties: { image: IMAGE, referenceType: { const: 'asset' } },
};

/** `models.predictLongRunning` of Veo 3.1: https://ai.google.dev/gemini-api/docs/video, and googleapis/js-genai. */
const VIDEO_SCHEMA = {
  required: ['instances'],
  properties: {
    instances: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: {
        ...strict,
        required: ['prompt'],
        properties: {
          prompt: { type: 'string' },
          image: IMAGE,
          lastFrame: IMAGE,
          referenceImages: { type: 'array', minItems: 1, maxItems: 3, items: REFERENCE },
        },
        dependentRequired: { lastFrame: ['image'] },
        not: { required: ['image', 'referenceImages'] },
      },
    },
    parameters: {
      ...strict,
      properties: {
        aspectRatio: { enum: ['16:9', '9:16'] },
        resolution: { enum: ['720p', '1080p', '4k'] },
        durationSeconds: { enum: [4, 6, 8] },
        negativePrompt: { type: 'string' },
        personGeneration: { enum: ['allow_all', 'allow_adult', 'dont_allow'] },
      },
      anyOf: [
        { properties: { resolution: { const: '720p' } } },
        { required: ['durationSeconds'], properties: { durationSeconds: { const: 8 } } },
      ],
    },
  },
};

const PART = {
  oneOf: [
    { ...strict, required: ['text'], properties: { text: { type: 'string' } } },
    {
      ...strict,
      required: ['inlineData'],
      properties: {
        inlineData: { ...strict, required: ['mimeType', 'data'], properties: { mimeType: TYPE, data: BASE64 } },
      },
    },
  ],
};
const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];

/** `models.generateContent` with an image model: https://ai.google.dev/gemini-api/docs/image-generation. */
const buildImageSchema = (sizes: object) => ({
  required: ['contents'],
  properties: {
    contents: {
      type: 'array',
      maxItems: 1,
      items: {
        ...strict,
        required: ['parts'],
        properties: { role: { const: 'user' }, parts: { type: 'array', minItems: 1, items: PART } },
      },
    },
    generationConfig: {
      ...strict,
      properties: {
        responseModalities: { type: 'array', items: { enum: ['TEXT', 'IMAGE'] } },
        imageConfig: { ...strict, properties: { aspectRatio: { enum: RATIOS }, ...sizes } },
      },
    },
  },
});

const MODELS = 'veo-3\\.1-generate-preview|gemini-3-pro-image|gemini-3\\.1-flash-lite-image';

/** The Gemini API: an operation for a video, whose file needs the key, and images in the response. */
export class FakeGemini extends ProviderFake {
  protected readonly unauthorized = this.error(400, 'INVALID_ARGUMENT', 'API key not valid.', [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
  ]);
  protected readonly notFound = this.error(404, 'NOT_FOUND', 'Requested entity was not found.');
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1beta\/models\/veo-3\.1-generate-preview:predictLongRunning$/,
      accepts: 'application/json',
      schema: VIDEO_SCHEMA,
      respond: ({ body }) => ({ status: 200, body: { name: this.getName(this.accept(body).id) } }),
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/v1beta\/models\/veo-3\.1-generate-preview\/operations\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => this.getOperation(id as string),
    },
    {
      operation: 'file',
      method: 'GET',
      path: /^\/v1beta\/files\/[\w-]+:download$/,
      respond: ({ query }) => (query.get('alt') === 'media' ? { file: MP4, type: 'video/mp4' } : { status: 400 }),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1beta\/models\/gemini-3-pro-image:generateContent$/,
      accepts: 'application/json',
      schema: buildImageSchema({ imageSize: { enum: ['1K', '2K', '4K'] } }),
      respond: (request) => this.generate(request),
    },
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/v1beta\/models\/gemini-3\.1-flash-lite-image:generateContent$/,
      accepts: 'application/json',
      schema: buildImageSchema({}),
      respond: (request) => this.generate(request),
    },
    {
      operation: 'probe',
      method: 'GET',
      path: new RegExp(`^/v1beta/models/(?:${MODELS})$`),
      respond: ({ path }) => ({ status: 200, body: { name: path.slice('/v1beta/'.length) } }),
    },
  ];

  protected override isAuthorized({ headers }: ProviderRequest): boolean {
    return headers['x-goog-api-key'] === this.key;
  }

  protected invalid(problem: string): ProviderAnswer {
    return this.error(400, 'INVALID_ARGUMENT', problem);
  }

  private error(code: number, status: string, message: string, details: object[] = []): ProviderAnswer {
    return { status: code, body: { error: { code, message, status, details } } };
  }

  private getName(id: string): string {
    return `models/veo-3.1-generate-preview/operations/${id}`;
  }

  private getOperation(id: string): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    const operation = { name: this.getName(id) };
    const end = (content: object) => ({ status: 200, body: { ...operation, done: true, ...content } });
    const respond = (generateVideoResponse: object) => end({ response: { generateVideoResponse } });
    if (this.rejectsPrompts)
      return end({ error: { code: 3, message: "The prompt violates Google's usage guidelines. Support codes: 1" } });
    switch (job.state) {
      case 'queued':
      case 'running':
        return { status: 200, body: operation };
      case 'failed':
        return end({ error: { code: 3, message: 'The image is too small.' } });
      case 'policy':
        return respond({ raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The video was blocked.'] });
      case 'succeeded':
        return respond({
          generatedSamples: [{ video: { uri: `${this.url}/v1beta/files/${id}:download?alt=media` } }],
        });
    }
  }

  private generate({ body }: ProviderRequest): ProviderAnswer {
    if (this.rejectsPrompts)
      return { status: 200, body: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: {} } };
    const { state } = this.accept(body);
    const candidate =
      state === 'policy'
        ? { finishReason: 'IMAGE_SAFETY', finishMessage: 'Unable to show the generated image.', index: 0 }
        : { content: { role: 'model', parts: this.buildParts() }, finishReason: 'STOP', index: 0 };
    return { status: 200, body: { candidates: [candidate], usageMetadata: { candidatesTokenCount: 1_120 } } };
  }

  /** A thought signature takes 1 to 2 MB. */
  private buildParts(): object[] {
    const inlineData = { mimeType: 'image/png', data: PNG.toString('base64') };
    return [{ text: 'Here it is.' }, { thoughtSignature: 'A'.repeat(1_500_000), inlineData }];
  }
}

const fake = new FakeGemini();
const ROLES = { first_frame: { role: 'first_frame' }, last_frame: { role: 'last_frame' } };

const GEMINI_VIDEO: ProviderCase = {
  provider: 'gemini',
  fake,
  basePath: '/v1beta',
  kind: 'video',
  model: 'veo-3.1-generate-preview',
  params: {
    duration: { enum: [8] },
    resolution: { enum: ['720p', '1080p', '4k'] },
    aspect_ratio: { enum: ['16:9', '9:16'] },
  },
  body: (prompt) => ({
    instances: [{ prompt }],
    parameters: { aspectRatio: '16:9', resolution: '720p', durationSeconds: 8 },
  }),
  cents: 320,
  failure: 'The image is too small.',
  images: [
    {
      inputs: ROLES,
      read: ({ instances: [instance] }) => Object.keys(instance),
      expected: ['prompt', 'image', 'lastFrame'],
    },
    {
      inputs: { images: { role: 'reference', max: 3 } },
      read: ({ instances: [{ referenceImages }] }) =>
        referenceImages.map(({ referenceType }: { referenceType: string }) => referenceType),
      expected: ['asset', 'asset'],
    },
  ],
};

const GEMINI_IMAGE: ProviderCase = {
  provider: 'gemini',
  fake,
  basePath: '/v1beta',
  kind: 'image',
  model: 'gemini-3-pro-image',
  params: { resolution: { enum: ['1K', '2K', '4K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
  body: (prompt) => ({
    contents: [{ parts: [{ text: prompt }] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '1K' } },
  }),
  cents: 13.4,
  images: [
    {
      inputs: { images: { role: 'reference', max: 14 } },
      model: 'gemini-3.1-flash-lite-image',
      params: { aspect_ratio: { enum: ['1:1', '16:9'] } },
      read: ({ contents: [{ parts }] }) => parts.map((part: object) => Object.keys(part)[0]),
      expected: ['text', 'inlineData', 'inlineData'],
    },
  ],
};

export const GEMINI = [GEMINI_VIDEO, GEMINI_IMAGE];
