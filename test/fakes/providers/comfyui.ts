import { randomUUID } from 'node:crypto';
import { MP4, PNG } from '../misbehave.ts';
import {
  type ProviderAnswer,
  type ProviderCase,
  ProviderFake,
  type ProviderJob,
  type ProviderRequest,
  type ProviderRoute,
} from './providerFake.ts';

/** A node of a workflow in the format of the API. */
const NODE = {
  type: 'object',
  required: ['class_type', 'inputs'],
  properties: {
    class_type: { type: 'string' },
    inputs: { type: 'object' },
    _meta: { type: 'object' },
  },
  additionalProperties: false,
};

/** `POST /prompt`, by `server.py` and `openapi.yaml` of Comfy-Org/ComfyUI. */
const SCHEMA = {
  required: ['prompt'],
  properties: {
    prompt: { type: 'object', minProperties: 1, additionalProperties: NODE },
    client_id: { type: 'string' },
    extra_data: { type: 'object' },
    front: { type: 'boolean' },
    number: { type: 'number' },
    partial_execution_targets: { type: 'array' },
  },
};
const UPLOAD_SCHEMA = {
  required: ['image'],
  properties: {
    image: { type: 'object' },
    type: { enum: ['input', 'temp', 'output'] },
    subfolder: { type: 'string' },
    overwrite: { enum: ['true', '1'] },
  },
};

const STATUS: Record<ProviderJob['state'], string> = {
  queued: 'pending',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  policy: 'failed',
};

/** ComfyUI behind a proxy that checks a key. */
class FakeComfyui extends ProviderFake {
  /** Names of uploaded images, with their folders. */
  readonly uploads = new Set<string>();
  protected readonly unauthorized = { status: 401, body: { error: 'unauthorized' } };
  protected readonly notFound = { status: 404, body: { error: 'Job not found' } };
  protected readonly routes: ProviderRoute[] = [
    {
      operation: 'submit',
      method: 'POST',
      path: /^\/prompt$/,
      accepts: 'application/json',
      schema: SCHEMA,
      respond: (request) => this.queue(request),
    },
    {
      operation: 'upload',
      method: 'POST',
      path: /^\/upload\/image$/,
      accepts: 'multipart/form-data',
      schema: UPLOAD_SCHEMA,
      respond: (request) => this.upload(request),
    },
    {
      operation: 'status',
      method: 'GET',
      path: /^\/api\/jobs\/(?<id>[\w-]+)$/,
      respond: (_, { id }) => this.getJob(id),
    },
    {
      operation: 'cancel',
      method: 'POST',
      path: /^\/api\/jobs\/(?<id>[\w-]+)\/cancel$/,
      respond: (_, { id }) => this.cancel(id),
    },
    { operation: 'file', method: 'GET', path: /^\/view$/, respond: ({ query }) => this.view(query) },
    {
      operation: 'probe',
      method: 'GET',
      path: /^\/system_stats$/,
      respond: () => ({ status: 200, body: { system: { os: 'posix' }, devices: [] } }),
    },
  ];

  protected invalid(message: string): ProviderAnswer {
    const error = { type: 'prompt_outputs_failed_validation', message, details: '', extra_info: {} };
    return { status: 400, body: { error, node_errors: {} } };
  }

  private queue({ body }: ProviderRequest): ProviderAnswer {
    for (const { class_type: type, inputs } of Object.values<{ class_type: string; inputs: any }>(body['prompt'])) {
      if (type === 'LoadImage' && !this.uploads.has(inputs.image))
        return this.refuse(this.invalid(`Invalid image file: ${inputs.image}`), `image ${inputs.image}`);
      if (type === 'KSampler' && !Number.isInteger(inputs.seed))
        return this.refuse(this.invalid('seed'), `seed ${inputs.seed}`);
    }
    const { id } = this.accept(body);
    return { status: 200, body: { prompt_id: id, number: this.jobs.length, node_errors: {} } };
  }

  private upload({ body }: ProviderRequest): ProviderAnswer {
    const { subfolder = '', type = 'input' } = body;
    const name = `image-${randomUUID().slice(0, 4)}.png`;
    this.uploads.add(subfolder === '' ? name : `${subfolder}/${name}`);
    return { status: 200, body: { name, subfolder, type } };
  }

  private getJob(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    if (job === undefined) return this.notFound;
    const { state, input } = job;
    const body = { id, status: STATUS[state], priority: 1, create_time: 1_764_000_000_000, outputs_count: 0 };
    if (state === 'failed')
      return {
        status: 200,
        body: { ...body, execution_error: { node_id: '3', exception_message: '/srv/models: CUDA out of memory' } },
      };
    if (state !== 'succeeded') return { status: 200, body };
    const saver = Object.keys(input['prompt']).at(-1) as string;
    const isVideo = input['prompt'][saver].class_type !== 'SaveImage';
    const file = { filename: `out ${isVideo ? '1.mp4' : '1.png'}`, subfolder: 'a b', type: 'output' };
    const outputs = { [saver]: isVideo ? { images: [file], animated: [true] } : { images: [file] } };
    const workflow = { prompt: input['prompt'], extra_data: {} };
    return { status: 200, body: { ...body, outputs_count: 1, outputs, preview_output: file, workflow } };
  }

  private cancel(id: string | undefined): ProviderAnswer {
    const job = this.find(id);
    const isOpen = job !== undefined && ['queued', 'running'].includes(job.state);
    if (isOpen) this.canceled.push(job.id);
    return { status: 200, body: { cancelled: isOpen } };
  }

  private view(query: URLSearchParams): ProviderAnswer {
    if (query.get('subfolder') !== 'a b' || query.get('type') !== 'output')
      return this.refuse(this.notFound, `no file at ${query}`);
    if (query.get('filename') === 'out 1.mp4') return { file: MP4, type: 'video/mp4' };
    return query.get('filename') === 'out 1.png' ? { file: PNG, type: 'image/png' } : { status: 404 };
  }
}

const fake = new FakeComfyui();

/** Workflows as an operator exports them, with variables in the place of values. */
const CLIP = { class_type: 'CLIPTextEncode', inputs: { text: '$prompt', clip: ['4', 1] } };
const SAMPLER = { class_type: 'KSampler', inputs: { seed: '$random_seed', steps: 4, positive: ['6', 0] } };
const IMAGE_WORKFLOW = { '6': CLIP, '8': SAMPLER, '9': { class_type: 'SaveImage', inputs: { images: ['8', 0] } } };
const VIDEO_WORKFLOW = { '6': CLIP, '8': SAMPLER, '9': { class_type: 'SaveVideo', inputs: { video: ['8', 0] } } };
const EDIT_WORKFLOW = {
  ...IMAGE_WORKFLOW,
  '7': { class_type: 'LoadImage', inputs: { image: '$reference_1' } },
  '5': { class_type: 'LoadImage', inputs: { image: '$reference_2' } },
};

const fill = (workflow: object, prompt: string, received: Record<string, any>) => ({
  prompt: {
    ...workflow,
    '6': { ...CLIP, inputs: { ...CLIP.inputs, text: prompt } },
    '8': { ...SAMPLER, inputs: { ...SAMPLER.inputs, seed: received['prompt'][8].inputs.seed } },
  },
});

/** A failure of a workflow names nodes and files of the server, which customers do not see. */
const FAILURE = 'The model could not generate this.';

export const COMFYUI: ProviderCase[] = [
  {
    provider: 'comfyui',
    fake,
    basePath: '',
    kind: 'image',
    model: 'flux',
    models: { flux: { input: IMAGE_WORKFLOW }, 'flux-edit': { input: EDIT_WORKFLOW } },
    params: { steps: { enum: [4] } },
    body: (prompt, received) => fill(IMAGE_WORKFLOW, prompt, received),
    failure: FAILURE,
    hasNoPolicy: true,
    references: { max: 2, model: 'flux-edit', fields: ['prompt'] },
    cancels: true,
  },
  {
    provider: 'comfyui',
    fake,
    basePath: '',
    kind: 'video',
    model: 'wan',
    models: { wan: { input: VIDEO_WORKFLOW } },
    params: { duration: { enum: [5] } },
    body: (prompt, received) => fill(VIDEO_WORKFLOW, prompt, received),
    failure: FAILURE,
    hasNoPolicy: true,
    cancels: true,
  },
];
