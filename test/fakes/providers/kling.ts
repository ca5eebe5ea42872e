import { createHmac, randomUUID } from 'node:crypto';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderRequest,
  type ProviderRoute,
  servePublicFile,
} from './providerFake.ts';

const IMAGE = { type: 'string', minLength: 1 };
const PROMPT = { type: 'string', maxLength: 2_500 };
const RATIO = { enum: ['16:9', '9:16', '1:1'] };
const COMMON = {
  model_name: { enum: ['kling-v1-6', 'kling-v2-5-turbo', 'kling-v2-6', 'kling-v3'] },
  prompt: PROMPT,
  negative_prompt: PROMPT,
  mode: { enum: ['std', 'pro'] },
  duration: { type: 'string', pattern: '^(?:[3-9]|1[0-5])$' },
  sound: { enum: ['on', 'off'] },
  callback_url: { type: 'string' },
  external_task_id: { type: 'string' },
};

/** Bodies of the endpoints: tryAGI/KlingAI and @ai-sdk/klingai, which sends no shape with a first frame. */
const SCHEMAS: Record<string, object> = {
  'videos/text2video': { required: ['prompt'], properties: { ...COMMON, aspect_ratio: RATIO } },
  'videos/image2video': {
    properties: { ...COMMON, image: IMAGE, image_tail: IMAGE },
    anyOf: [{ required: ['image'] }, { required: ['image_tail'] }],
  },
  'images/generations': {
    required: ['prompt'],
    properties: {
      model_name: { enum: ['kling-v2', 'kling-v2-1', 'kling-v3'] },
      prompt: PROMPT,
      negative_prompt: PROMPT,
      image: IMAGE,
      n: { type: 'integer', minimum: 1, maximum: 9 },
      aspect_ratio: { enum: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9'] },
      resolution: { enum: ['1k', '2k'] },
      callback_url: { type: 'string' },
      external_task_id: { type: 'string' },
    },
  },
};

const KEY_ID = 'id-of-the-access-key';
const STATUS = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeed',
  failed: 'failed',
  policy: 'failed',
} as const;
const MESSAGES: Partial<Record<string, string>> = {
  failed: 'The task ran out of luck.',
  policy: 'Failure to pass the risk control system',
};

/** Kling: every request has a token that the key signs, and tasks are read where they were submitted. */
export class FakeKling extends ProviderFake {
  protected readonly unauthorized = this.error(401, 1_002, 'access key not found');
  protected readonly notFound = this.error(404, 1_203, 'the requested resource does not exist');
  protected readonly routes: ProviderRoute[] = [
    ...Object.entries(SCHEMAS).flatMap(([name, schema]): ProviderRoute[] => [
      {
        operation: 'submit',
        method: 'POST',
        path: new RegExp(`^/v1/${name}$`),
        accepts: 'application/json',
        schema,
        respond: (request) => this.create(request),
      },
      {
        operation: 'status',
        method: 'GET',
        path: new RegExp(`^/v1/${name}/(?<id>[\\w-]+)$`),
        respond: (_request, { id }) => this.getTask(name, id),
      },
    ]),
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/v1\/videos\/text2video$/,
      respond: () => this.succeed([]),
    },
    servePublicFile(/^\/files\/[\w-]+\.(?:mp4|png)$/),
  ];
  private readonly endpoints = new Map<string, string>();

  /** Verifies a token as the documentation builds it: HS256, with the id as `iss`, for at most half an hour. */
  protected override isAuthorized({ headers }: ProviderRequest): boolean {
    const [content, signature] = splitToken(headers.authorization?.replace(/^Bearer /, '') ?? '');
    if (signature !== createHmac('sha256', this.key).update(content).digest('base64url')) return false;
    const [header, claims] = content
      .split('.')
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);
    const [exp, nbf] = [Number(claims?.['exp']), Number(claims?.['nbf'])];
    return header?.['alg'] === 'HS256' && claims?.['iss'] === KEY_ID && exp - nbf <= 1_805;
  }

  protected invalid(problem: string): ProviderAnswer {
    return this.error(400, 1_201, problem);
  }

  private error(status: number, code: number, message: string): ProviderAnswer {
    return { status, body: { code, message, request_id: randomUUID() } };
  }

  private succeed(data: unknown): ProviderAnswer {
    return { status: 200, body: { code: 0, message: 'SUCCEED', request_id: randomUUID(), data } };
  }

  private create({ path, body }: ProviderRequest): ProviderAnswer {
    if (this.rejectsPrompts) return this.error(400, 1_301, 'Content security policy triggered');
    const { id } = this.accept(body);
    this.endpoints.set(id, path.replace('/v1/', ''));
    return this.succeed({ task_id: id, task_status: 'submitted', created_at: 1, updated_at: 1 });
  }

  private getTask(endpoint: string, id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined || this.endpoints.get(job.id) !== endpoint)
      return this.refuse(this.notFound, `a task of ${this.endpoints.get(id ?? '')} at ${endpoint}`);
    const task = {
      task_id: job.id,
      task_status: STATUS[job.state],
      task_status_msg: MESSAGES[job.state] ?? '',
      created_at: 1,
      updated_at: 2,
    };
    if (job.state !== 'succeeded') return this.succeed(task);
    const url = (type: string) => `${this.url}/files/${job.id}.${type}`;
    const result = endpoint.startsWith('videos')
      ? { videos: [{ id: job.id, url: url('mp4'), duration: '5.1' }] }
      : { images: [{ index: 0, url: url('png') }] };
    return this.succeed({ ...task, task_result: result });
  }
}

function splitToken(token: string): [content: string, signature: string] {
  const dot = token.lastIndexOf('.');
  return [token.slice(0, Math.max(0, dot)), token.slice(dot + 1)];
}

const CASE = {
  provider: 'kling',
  fake: new FakeKling(),
  basePath: '/v1',
  settings: { key_id: KEY_ID },
  failure: MESSAGES['failed'] as string,
};

export const KLING: readonly ProviderCase[] = [
  {
    ...CASE,
    kind: 'video',
    model: 'kling-v2-6',
    params: {
      duration: { enum: [5, 10] },
      resolution: { enum: ['1080p', '720p'] },
      audio: { type: 'boolean', default: true },
      aspect_ratio: { enum: ['16:9', '9:16', '1:1'] },
    },
    body: (prompt) => ({
      model_name: 'kling-v2-6',
      prompt,
      duration: '5',
      mode: 'pro',
      sound: 'on',
      aspect_ratio: '16:9',
    }),
    frames: { roles: ['first_frame', 'last_frame'], read: ({ image, image_tail }) => [image, image_tail] },
  },
  {
    ...CASE,
    kind: 'image',
    model: 'kling-v2-1',
    params: { resolution: { enum: ['1K', '2K'] }, aspect_ratio: { enum: ['16:9', '1:1', '9:16'] } },
    body: (prompt) => ({ model_name: 'kling-v2-1', prompt, aspect_ratio: '16:9', resolution: '1k' }),
    references: { max: 1, fields: ['image'] },
  },
];
