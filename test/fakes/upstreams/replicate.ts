import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Misbehaviour, misbehave, MP4, PNG, readTextBody, sendJson } from '../misbehave.ts';

export interface Prediction {
  id: string;
  /** `owner/name`; null if the body names a version. */
  model: string | null;
  version: string | null;
  prompt: string;
  input: Record<string, unknown>;
  /** Headers of the create request. */
  prefer: string | undefined;
  cancelAfter: string | undefined;
  status: 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled' | 'aborted';
  /** Times of its status requests. */
  polls: number[];
  cancelled: boolean;
}

/** A verbatim response that replaces the fake's own. */
export interface VerbatimResponse {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/**
 * A fake model provider that implements Replicate's predictions over HTTP, records its requests, and misbehaves on
 * demand. Like Replicate, it requires the key for every request, its own files included.
 */
export class FakeReplicate {
  static readonly KEY = 'test';
  readonly predictions: Prediction[] = [];
  /** Outcome of new predictions: they end at the first poll, or wait for {@link end}. */
  outcome: 'succeed' | 'fail' | 'wait' = 'succeed';
  /** Error of failed predictions. */
  error: string | null = 'The fake was set to fail.';
  /** Form in which a model returns its file. */
  outputAs: 'string' | 'list' = 'string';
  /** Misbehavior by kind of request, until it is removed. */
  submit: Misbehaviour | 'drop after acceptance' | 'refuse' | VerbatimResponse | undefined;
  status: Misbehaviour | VerbatimResponse | undefined;
  file: Misbehaviour | VerbatimResponse | undefined;
  model: Misbehaviour | VerbatimResponse | undefined;
  /** Number of submits, accepted or not. */
  submits = 0;
  /** All requests with their `Authorization` headers. */
  readonly requests: { path: string; authorization: string | undefined }[] = [];
  url = '';
  private readonly server = createServer((request, response) => {
    void this.serve(request, response);
  });

  async start(port = 0): Promise<this> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  /** Removes all misbehavior. */
  reset(): void {
    this.outcome = 'succeed';
    this.error = 'The fake was set to fail.';
    this.outputAs = 'string';
    this.submit = this.status = this.file = this.model = undefined;
  }

  predictionsFor(prompt: string): Prediction[] {
    return this.predictions.filter((prediction) => prediction.prompt === prompt);
  }

  /** Ends every prediction of a prompt, also one that has already ended in another state. */
  end(prompt: string, status: Prediction['status']): void {
    for (const prediction of this.predictionsFor(prompt)) prediction.status = status;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    const body = await readTextBody(request);
    const { authorization } = request.headers;
    this.requests.push({ path: pathname, authorization });
    if (authorization !== `Bearer ${FakeReplicate.KEY}`) {
      return sendJson(response, 401, {
        title: 'Unauthenticated',
        detail: 'You did not pass a valid token',
        status: 401,
      });
    }
    const model = /^\/v1\/models\/([^/]+\/[^/]+)(\/predictions)?$/.exec(pathname);
    const isCreation = request.method === 'POST' && (model?.[2] !== undefined || pathname === '/v1/predictions');
    if (isCreation) return this.create(model?.[1] ?? null, JSON.parse(body), request, response);
    if (model !== null) return this.sendModel(model[1] as string, request, response);
    if (pathname.startsWith('/files/')) return this.sendFile(pathname, request, response);
    const [, id, part] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(pathname) ?? [];
    const prediction = this.predictions.find((candidate) => candidate.id === id);
    if (part === undefined) return this.sendState(prediction, request, response);
    if (prediction === undefined) return sendJson(response, 404, { detail: 'Not found.', status: 404 });
    prediction.cancelled = true;
    if (/starting|processing/.test(prediction.status)) prediction.status = 'canceled';
    return sendJson(response, 200, this.present(prediction));
  }

  private create(
    model: string | null,
    { version = null, input }: { version?: string | null; input: Record<string, unknown> },
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    this.submits += 1;
    if (this.submit === 'refuse') {
      const description = 'The fake rejects this prompt';
      return sendJson(response, 422, {
        title: 'Input validation failed',
        detail: `- input.prompt: ${description}\n`,
        status: 422,
        invalid_fields: [{ type: 'invalid', field: 'input.prompt', description }],
      });
    }
    if (misbehaveOrVerbatim(this.submit === 'drop after acceptance' ? undefined : this.submit, request, response))
      return;
    const prediction: Prediction = {
      id: randomUUID().replaceAll('-', ''),
      model,
      version,
      prompt: String(input['prompt']),
      input,
      prefer: request.headers['prefer'] as string | undefined,
      cancelAfter: request.headers['cancel-after'] as string | undefined,
      status: 'starting',
      polls: [],
      cancelled: false,
    };
    this.predictions.push(prediction);
    if (this.submit === 'drop after acceptance') request.socket.destroy();
    else sendJson(response, 201, this.present(prediction));
    if (this.outcome !== 'wait') prediction.status = this.outcome === 'succeed' ? 'succeeded' : 'failed';
  }

  private sendState(prediction: Prediction | undefined, request: IncomingMessage, response: ServerResponse): void {
    prediction?.polls.push(Date.now());
    if (misbehaveOrVerbatim(this.status, request, response)) return;
    if (prediction === undefined || this.status === 'lose') {
      return sendJson(response, 404, { detail: 'The requested resource could not be found.', status: 404 });
    }
    if (prediction.status === 'starting') prediction.status = 'processing';
    sendJson(response, 200, this.present(prediction));
  }

  private sendModel(model: string, request: IncomingMessage, response: ServerResponse): void {
    if (misbehaveOrVerbatim(this.model, request, response)) return;
    const [owner, name] = model.split('/');
    sendJson(response, 200, { url: `https://replicate.com/${model}`, owner, name, visibility: 'public', run_count: 1 });
  }

  private sendFile(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (misbehaveOrVerbatim(this.file, request, response)) return;
    const isVideo = path.endsWith('.mp4');
    response.writeHead(200, { 'content-type': isVideo ? 'video/mp4' : 'image/png' });
    response.end(isVideo ? MP4 : PNG);
  }

  private present({ id, model, version, input, status }: Prediction): Record<string, unknown> {
    const file = `${this.url}/files/${id}.${'duration' in input ? 'mp4' : 'png'}`;
    const own = `${this.url}/v1/predictions/${id}`;
    return {
      id,
      model: model ?? 'fake/model',
      version: version ?? 'hidden',
      input,
      output: status === 'succeeded' ? (this.outputAs === 'list' ? [file] : file) : null,
      error: status === 'failed' ? this.error : null,
      status,
      data_removed: false,
      created_at: new Date().toISOString(),
      urls: { web: `https://replicate.com/p/${id}`, get: own, cancel: `${own}/cancel` },
    };
  }
}

function misbehaveOrVerbatim(
  how: string | number | VerbatimResponse | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (typeof how !== 'object') return misbehave(how, request, response);
  response.writeHead(how.status, { 'content-type': 'application/json', ...how.headers });
  response.end(JSON.stringify(how.body));
  return true;
}
