import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Misbehaviour, misbehave, MP4, PNG, readTextBody, sendJson } from '../misbehave.ts';

export interface UpstreamJob {
  id: string;
  model: string;
  prompt: string;
  input: Record<string, unknown>;
  state: 'running' | 'succeeded' | 'failed';
  /** Start and end of the run by `Date.now`, if recorded. */
  startedAt?: number;
  endedAt?: number;
  /** Times of its status requests. */
  polls: number[];
  /** A cancel was requested. A job that was running at that moment has failed. */
  cancelled: boolean;
}

/**
 * A fake model provider that implements fal's queue protocol over HTTP, records its requests, and misbehaves on demand.
 */
export class FakeFal {
  readonly jobs: UpstreamJob[] = [];
  /** Outcome of new jobs: they end at once, or wait for {@link end}. */
  outcome: 'succeed' | 'fail' | 'wait' = 'succeed';
  /** Misbehavior by kind of request, until it is removed. */
  submit: Misbehaviour | 'drop after acceptance' | 'refuse' | undefined;
  status: Misbehaviour | undefined;
  result: Misbehaviour | undefined;
  file: Misbehaviour | undefined;
  /** Called for every accepted submit. */
  onAccepted: (job: UpstreamJob) => void = () => {};
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

  jobsFor(prompt: string): UpstreamJob[] {
    return this.jobs.filter((job) => job.prompt === prompt);
  }

  /** Ends every job of a prompt. */
  end(prompt: string, state: 'succeeded' | 'failed'): void {
    for (const job of this.jobsFor(prompt)) if (!job.cancelled) job.state = state;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const [, id, part] = /\/requests\/([^/]+)(?:\/(status|cancel))?$/.exec(url.pathname) ?? [];
    const kind = request.method === 'POST' ? 'submit' : url.pathname.startsWith('/files/') ? 'file' : part;
    const body = await readTextBody(request);
    if (kind === 'submit') return this.accept(url.pathname.slice(1), JSON.parse(body), request, response);
    if (kind === 'file') return this.sendFile(url.pathname, request, response);
    const job = this.jobs.find((candidate) => candidate.id === id);
    if (part === 'cancel') {
      if (job === undefined) return sendJson(response, 404, { status: 'NOT_FOUND' });
      job.cancelled = true;
      if (job.state !== 'running') return sendJson(response, 400, { status: 'ALREADY_COMPLETED' });
      job.state = 'failed';
      return sendJson(response, 202, { status: 'CANCELLATION_REQUESTED' });
    }
    if (part === 'status') job?.polls.push(Date.now());
    const misbehaviour = part === 'status' ? this.status : this.result;
    if (misbehave(misbehaviour, request, response)) return;
    if (job === undefined || misbehaviour === 'lose') return sendJson(response, 404, { detail: 'Request not found' });
    if (part === 'status') {
      const running = job.state === 'running';
      return sendJson(response, running ? 202 : 200, { status: running ? 'IN_PROGRESS' : 'COMPLETED' });
    }
    if (job.state === 'failed') return sendJson(response, 422, { detail: [{ msg: 'The fake was set to fail.' }] });
    const isVideo = 'duration' in job.input;
    const file = { url: `${this.url}/files/${job.id}.${isVideo ? 'mp4' : 'png'}` };
    return sendJson(response, 200, isVideo ? { video: file } : { images: [file] });
  }

  /** Number of submits, accepted or not. */
  submits = 0;

  private accept(
    model: string,
    input: Record<string, unknown>,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    this.submits += 1;
    if (this.submit === 'refuse')
      return sendJson(response, 422, { detail: [{ msg: 'Not allowed by the content policy' }] });
    if (misbehave(this.submit === 'drop after acceptance' ? undefined : this.submit, request, response)) return;
    // On request, an id that Postgres cannot store.
    const id = String(input['prompt']).includes('[poison]') ? `${randomUUID()}\u0000` : randomUUID();
    const state = ({ succeed: 'succeeded', fail: 'failed', wait: 'running' } as const)[this.outcome];
    const job: UpstreamJob = { id, model, prompt: String(input['prompt']), input, state, polls: [], cancelled: false };
    this.jobs.push(job);
    this.onAccepted(job);
    if (this.submit === 'drop after acceptance') {
      request.socket.destroy();
      return;
    }
    const base = `${this.url}/${model.split('/').slice(0, 2).join('/')}/requests/${id}`;
    sendJson(response, 200, {
      request_id: id,
      status: 'IN_QUEUE',
      status_url: `${base}/status`,
      response_url: base,
      cancel_url: `${base}/cancel`,
    });
  }

  private sendFile(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (misbehave(this.file, request, response)) return;
    const isVideo = path.endsWith('.mp4');
    response.writeHead(200, { 'content-type': isVideo ? 'video/mp4' : 'image/png' });
    response.end(isVideo ? MP4 : PNG);
  }
}
