import { randomUUID } from 'node:crypto';
import { PNG } from '../misbehave.ts';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
} from './providerFake.ts';

const RATIOS = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];
const FIELDS = {
  prompt: { type: 'string', minLength: 1, maxLength: 10_000 },
  negative_prompt: { type: 'string', maxLength: 10_000 },
  aspect_ratio: { enum: RATIOS },
  seed: { type: 'string', pattern: '^\\d{1,10}$' },
  output_format: { enum: ['jpeg', 'png', 'webp'] },
};
const IMAGE = { image: { type: 'object' }, strength: { type: 'string', pattern: '^[01](?:\\.\\d+)?$' } };

/** Fields of the forms: https://platform.stability.ai/docs/api-reference. */
const SCHEMAS: Record<string, object> = {
  core: { required: ['prompt'], properties: { ...FIELDS, style_preset: { type: 'string' } } },
  ultra: { required: ['prompt'], properties: { ...FIELDS, ...IMAGE }, dependentRequired: { image: ['strength'] } },
  sd3: {
    required: ['prompt'],
    properties: {
      ...FIELDS,
      ...IMAGE,
      model: { enum: ['sd3.5-large', 'sd3.5-large-turbo', 'sd3.5-medium', 'sd3.5-flash'] },
      mode: { enum: ['text-to-image', 'image-to-image'] },
      cfg_scale: { type: 'string' },
    },
    dependentRequired: { image: ['strength', 'mode'] },
  },
};

/** Stability AI: a form, whose response is the image. */
export class FakeStability extends ProviderFake {
  protected readonly unauthorized = this.error(401, 'unauthorized', 'authorization: invalid or missing header value');
  protected readonly notFound = this.error(404, 'not_found', 'Not found');
  protected readonly routes: ProviderRoute[] = [
    ...Object.entries(SCHEMAS).map(
      ([service, schema]): ProviderRoute => ({
        operation: 'submit',
        method: 'POST',
        path: new RegExp(`^/v2beta/stable-image/generate/${service}$`),
        accepts: 'multipart/form-data',
        schema,
        respond: (request) => this.generate(request),
      }),
    ),
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/user\/balance$/,
      respond: () => ({ status: 200, body: { credits: 100 } }),
    },
  ];

  protected invalid(problem: string): ProviderAnswer {
    return this.error(400, 'bad_request', problem);
  }

  private error(status: number, name: string, problem: string): ProviderAnswer {
    return { status, body: { id: randomUUID(), name, errors: [problem] } };
  }

  private generate({ headers, body }: ProviderRequest): ProviderAnswer {
    if (headers.accept !== 'image/*')
      return this.refuse(this.invalid('accept: must be image/*'), `accept ${headers.accept}`);
    if (this.rejectsPrompts)
      return this.error(403, 'content_moderation', 'Your request was flagged by our content moderation system.');
    const { state } = this.accept(body);
    if (state === 'failed') return this.error(500, 'internal_error', 'An unexpected server error has occurred.');
    const reason = state === 'policy' ? 'CONTENT_FILTERED' : 'SUCCESS';
    return { file: PNG, type: 'image/png', headers: { 'finish-reason': reason, seed: '343940597' } };
  }
}

export const STABILITY: ProviderCase = {
  provider: 'stability',
  fake: new FakeStability(),
  basePath: '',
  kind: 'image',
  model: 'core',
  params: { aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
  body: (prompt) => ({ prompt, aspect_ratio: '16:9', output_format: 'png' }),
  cents: 3,
};
