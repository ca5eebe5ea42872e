import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type Misbehaviour, misbehave, MP4, PNG, readTextBody, sendJson } from '../misbehave.ts';

export interface OpenAIJob {
  id: string;
  kind: 'video' | 'image';
  model: string;
  prompt: string;
  /** Fields of the body. In a form each is a string. */
  body: Record<string, unknown>;
  isForm: boolean;
  idempotencyKey: string | undefined;
  status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'rendering';
  /** Times of its status requests. */
  polls: number[];
  deleted: boolean;
}

/** A verbatim response that replaces the fake's own. */
export interface VerbatimResponse {
  status: number;
  headers?: Record<string, string>;
  /** A string is sent as it is, a stream in its chunks, any other value as JSON. */
  body: unknown;
}

/** A request to the second host. */
export interface RecordedVisit {
  path: string;
  authorization: string | undefined;
}

export const MODERATION_ERROR = {
  message: 'Your request was rejected by the safety system. safety_violations=[violence].',
  type: 'image_generation_user_error',
  param: null,
  code: 'moderation_blocked',
};

/**
 * A fake model provider that implements OpenAI's Videos and Images APIs over HTTP, records its requests, and misbehaves
 * on demand. Every request needs the key, downloads included. Outputs may also be at a second host, without a key.
 */
export class FakeOpenAI {
  /** null: no key is required. */
  key: string | null = 'test';
  readonly jobs: OpenAIJob[] = [];
  /** Number of submits, accepted or not. */
  submits = 0;
  /** Outcome of new jobs: they end at once, or wait for {@link end} (a video) or forever (an image). */
  outcome: 'succeed' | 'fail' | 'wait' = 'succeed';
  /** Error of failed videos. */
  error: Record<string, unknown> | null = { code: 'invalid_prompt', message: 'The fake was set to fail.' };
  /** Misbehavior by kind of request, until it is removed. */
  submit: Misbehaviour | 'drop after acceptance' | 'refuse' | VerbatimResponse | undefined;
  status: Misbehaviour | VerbatimResponse | undefined;
  content: Misbehaviour | VerbatimResponse | 'redirect' | undefined;
  image: Misbehaviour | 'drop after acceptance' | 'drop in the middle' | 'refuse' | VerbatimResponse | undefined;
  models: Misbehaviour | VerbatimResponse | undefined;
  /** Duration of image requests, and form of their responses. */
  imageDelayMs = 0;
  imageAs: 'b64_json' | 'url' | 'data url' | 'url of another host' = 'b64_json';
  picture = PNG;
  /** Called for every accepted submit. */
  onAccepted: (job: OpenAIJob) => void = () => {};
  url = '';
  otherUrl = '';
  readonly visits: RecordedVisit[] = [];
  private readonly server = createServer((request, response) => {
    void this.serve(request, response);
  });
  private readonly otherServer = createServer((request, response) => {
    this.visits.push({ path: request.url ?? '', authorization: request.headers.authorization });
    this.sendFile(request.url?.endsWith('.mp4') === true ? MP4 : this.picture, response);
  });

  async start(port = 0): Promise<this> {
    this.url = await listenOnPort(this.server, port);
    if (!this.otherServer.listening) this.otherUrl = await listenOnPort(this.otherServer, 0);
    return this;
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    for (const server of [this.server, this.otherServer].filter(({ listening }) => listening)) {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }
  }

  /** Removes all misbehavior. */
  reset(): void {
    const { key, outcome, error, imageDelayMs, imageAs, picture, onAccepted } = new FakeOpenAI();
    Object.assign(this, { key, outcome, error, imageDelayMs, imageAs, picture, onAccepted });
    this.submit = this.status = this.content = this.image = this.models = undefined;
  }

  jobsFor(prompt: string): OpenAIJob[] {
    return this.jobs.filter((job) => job.prompt === prompt);
  }

  /** Ends every video of a prompt. */
  end(prompt: string, status: OpenAIJob['status']): void {
    for (const job of this.jobsFor(prompt)) job.status = status;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    const body = await readTextBody(request);
    if (this.key !== null && request.headers.authorization !== `Bearer ${this.key}`) {
      return sendOpenAIError(response, 401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' });
    }
    if (pathname === '/v1/models') {
      if (misbehaveOrVerbatim(this.models, request, response)) return;
      return sendJson(response, 200, { object: 'list', data: [{ id: 'fake', object: 'model' }] });
    }
    if (request.method === 'POST' && pathname === '/v1/videos') return this.createVideo(body, request, response);
    if (request.method === 'POST' && pathname === '/v1/images/generations') {
      return this.createImage(body, request, response);
    }
    const [, id, part] = /^\/v1\/(?:videos|images)\/([^/]+)(\/content)?$/.exec(pathname) ?? [];
    const job = this.jobs.find((candidate) => candidate.id === decodeURIComponent(id ?? ''));
    if (part !== undefined) return this.sendContent(job, request, response);
    return this.sendStatus(job, request, response);
  }

  private accept(kind: OpenAIJob['kind'], text: string, request: IncomingMessage): OpenAIJob {
    const type = request.headers['content-type'] ?? '';
    const isForm = type.startsWith('multipart/form-data');
    const body = isForm ? parseMultipartForm(text, type) : (JSON.parse(text) as Record<string, unknown>);
    const status = ({ succeed: 'completed', fail: 'failed', wait: 'queued' } as const)[this.outcome];
    const job: OpenAIJob = {
      // An id with characters that need escaping in a path.
      id: `video_${randomUUID()}/.?#%`,
      kind,
      model: String(body['model']),
      prompt: String(body['prompt']),
      body,
      isForm,
      idempotencyKey: request.headers['idempotency-key'] as string | undefined,
      status,
      polls: [],
      deleted: false,
    };
    this.jobs.push(job);
    this.onAccepted(job);
    return job;
  }

  private createVideo(body: string, request: IncomingMessage, response: ServerResponse): void {
    this.submits += 1;
    if (this.submit === 'refuse') return sendOpenAIError(response, 400, MODERATION_ERROR);
    if (this.submit !== 'drop after acceptance' && misbehaveOrVerbatim(this.submit, request, response)) return;
    const job = this.accept('video', body, request);
    if (this.submit === 'drop after acceptance') request.socket.destroy();
    else sendJson(response, 200, this.present({ ...job, status: 'queued' }));
  }

  private async createImage(body: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.submits += 1;
    if (this.image === 'refuse') return sendOpenAIError(response, 400, MODERATION_ERROR);
    const drops = this.image === 'drop after acceptance' || this.image === 'drop in the middle';
    if (!drops && misbehaveOrVerbatim(this.image, request, response)) return;
    const job = this.accept('image', body, request);
    if (this.image === 'drop after acceptance') return void request.socket.destroy();
    if (this.outcome === 'wait') return;
    await new Promise((resolve) => setTimeout(resolve, this.imageDelayMs));
    if (this.outcome === 'fail') return sendOpenAIError(response, 400, this.error ?? {});
    const answer = JSON.stringify({ created: 1_700_000_000, data: [this.presentImage(job)] });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    if (this.image === 'drop in the middle') {
      response.write(answer.slice(0, answer.length / 2), () => request.socket.destroy());
    } else response.end(answer);
  }

  private presentImage({ id, prompt }: OpenAIJob): Record<string, unknown> {
    const base64 = this.picture.toString('base64');
    if (this.imageAs === 'b64_json') return { b64_json: base64, url: null, revised_prompt: prompt };
    const url = {
      url: `/v1/images/${encodeURIComponent(id)}/content`,
      'data url': `data:image/png;base64,${base64}`,
      'url of another host': `${this.otherUrl}/image.png`,
    }[this.imageAs];
    return { b64_json: null, url, revised_prompt: prompt };
  }

  private sendStatus(job: OpenAIJob | undefined, request: IncomingMessage, response: ServerResponse): void {
    const isDelete = request.method === 'DELETE';
    if (!isDelete) job?.polls.push(Date.now());
    if (!isDelete && misbehaveOrVerbatim(this.status, request, response)) return;
    if (job === undefined || job.kind === 'image' || this.status === 'lose') {
      return sendOpenAIError(response, 404, { message: 'No such video.', code: 'not_found' });
    }
    if (!isDelete) return sendJson(response, 200, this.present(job));
    job.deleted = true;
    return sendJson(response, 200, { id: job.id, object: 'video.deleted', deleted: true });
  }

  private present({ id, model, status, body }: OpenAIJob): Record<string, unknown> {
    const error = status === 'failed' ? this.error : null;
    const { seconds, size } = body;
    return { id, object: 'video', model, status, progress: status === 'completed' ? 100 : 0, seconds, size, error };
  }

  private sendContent(job: OpenAIJob | undefined, request: IncomingMessage, response: ServerResponse): void {
    if (this.content === 'redirect') {
      const location = `${this.otherUrl}/output.${job?.kind === 'image' ? 'png' : 'mp4'}`;
      response.writeHead(302, { location }).end();
    } else if (misbehaveOrVerbatim(this.content, request, response)) return;
    else if (job === undefined) sendOpenAIError(response, 404, { message: 'No such video.', code: 'not_found' });
    else this.sendFile(job.kind === 'image' ? this.picture : MP4, response);
  }

  private sendFile(file: Buffer, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': file === MP4 ? 'video/mp4' : 'image/png' }).end(file);
  }
}

async function listenOnPort(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function sendOpenAIError(response: ServerResponse, status: number, error: Record<string, unknown>): void {
  sendJson(response, status, { error: { type: 'invalid_request_error', param: null, ...error } });
}

function misbehaveOrVerbatim(
  how: string | number | VerbatimResponse | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (typeof how !== 'object') return misbehave(how, request, response);
  response.writeHead(how.status, { 'content-type': 'application/json', ...how.headers });
  if (how.body instanceof Readable) how.body.pipe(response);
  else response.end(typeof how.body === 'string' ? how.body : JSON.stringify(how.body));
  return true;
}

/** Parses the fields of a form without files. */
function parseMultipartForm(text: string, contentType: string): Record<string, string> {
  const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1] ?? '';
  const parts = text.split(`--${boundary}`).slice(1, -1);
  const fields = parts.map((part): [string, string] => {
    const [head = '', ...value] = part.split('\r\n\r\n');
    return [/name="([^"]*)"/.exec(head)?.[1] ?? '', value.join('\r\n\r\n').replace(/\r\n$/, '')];
  });
  return Object.fromEntries(fields);
}
