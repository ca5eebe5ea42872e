import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { buildCallback, type Callback, createCallbackKeys, sendCallback } from '../../dev/sampleUpstream/callbacks.ts';
import type { Job, JobFailure, JobOutcome, JobSubmission } from '../../dev/sampleUpstream/jobStore.ts';
import type {
  JsonResponse,
  Operation,
  ProtocolContext,
  ProtocolRequest,
} from '../../dev/sampleUpstream/protocols/protocol.ts';
import { readRequest, type RoutedRequest, routeRequest } from '../../dev/sampleUpstream/protocols/router.ts';
import { HttpFake } from './httpFake.ts';
import { type Misbehaviour, misbehave, MP4, PNG, type VerbatimResponse } from './misbehave.ts';

/** Misbehavior of one operation. The named ones depend on the protocol or apply after the operation was carried out. */
export type UpstreamFault = Misbehaviour | VerbatimResponse | 'refuse' | 'drop after acceptance' | 'drop in the middle';

export interface UpstreamJob extends Job {
  prompt: string;
  /** The request that submitted it. */
  request: ProtocolRequest;
  /** Times of the requests for its status or result. */
  polls: number[];
  /** Time of the last status that said that the job waits in the queue; null without any. */
  seenWaitingAt: number | null;
  /** A cancel was requested. A job that was running at that moment has failed. */
  cancelled: boolean;
  /** Time of the first request to cancel it. */
  cancelledAt: number | null;
  /** It was deleted, or its output was returned in the response to the submit. */
  removed: boolean;
}

/** A received request. */
export interface RecordedRequest {
  /** Method and path. */
  call: string;
  authorization: string | undefined;
}

/**
 * A fake model provider that implements the protocols of fal's queue, Replicate and OpenAI at once, as the sample
 * upstream does, without rendering. It records its requests, and misbehaves on demand. fal's queue is at `url`, the
 * others are at `/v1` below it.
 */
export class FakeUpstream extends HttpFake {
  /** The key that requests need; null for none. */
  key: string | null;
  readonly jobs: UpstreamJob[] = [];
  readonly requests: RecordedRequest[] = [];
  /** Number of submits with a valid key, accepted or not. */
  submits = 0;
  /** Outcome of new jobs: they end at once, or wait for {@link end}. */
  outcome: 'succeed' | 'fail' | 'wait' = 'succeed';
  /** New jobs stay in the queue of the provider until {@link begin}. Use it with the outcome `wait`. */
  isQueueing = false;
  /** Message of failed jobs. */
  failure = 'The fake was set to fail.';
  /** Submits are handled after this. */
  submitHold: Promise<unknown> | undefined;
  /** Duration of a submit that responds with the output. */
  delayMs = 0;
  picture = PNG;
  /** Compresses the bodies of responses in JSON, whatever the request accepts. */
  isCompressing = false;
  /** Misbehavior by operation, until it is removed. */
  submit: UpstreamFault | undefined;
  status: UpstreamFault | undefined;
  result: UpstreamFault | undefined;
  cancel: UpstreamFault | undefined;
  file: UpstreamFault | undefined;
  probe: UpstreamFault | undefined;
  keys: UpstreamFault | undefined;
  /** Misbehavior of submits by prompt. */
  readonly submitByPrompt = new Map<string, UpstreamFault>();
  /** Keys that sign call-backs. A test replaces them to rotate them. */
  callbackKeys = createCallbackKeys();
  /** Sends the call-back of a job that has ended, for jobs that ask for one. */
  deliver: (callback: Callback, job: UpstreamJob) => void = (callback) => void sendCallback(callback);
  /** Called for every accepted job before the response, and may change the job. */
  onAccepted: (job: UpstreamJob) => void = () => {};
  /** Changes the bodies of responses. */
  changeBody: (body: any, operation: Operation) => unknown = (body) => body;
  readonly #ends = new EventEmitter().setMaxListeners(0);
  /** Outcome of the next job by prompt, for prompts that were ended before a worker submitted them. */
  readonly #earlyEnds = new Map<string, JobOutcome['kind']>();

  constructor(key: string | null = null) {
    super();
    this.key = key;
  }

  /** Removes all misbehavior. Keeps the key and what was recorded. */
  reset(): void {
    const { outcome, isQueueing, isCompressing, failure, delayMs, picture, onAccepted, changeBody, deliver } =
      new FakeUpstream();
    this.submitByPrompt.clear();
    Object.assign(this, {
      outcome,
      isQueueing,
      isCompressing,
      failure,
      delayMs,
      picture,
      onAccepted,
      changeBody,
      deliver,
    });
    this.submit = this.status = this.result = this.cancel = this.file = this.probe = this.keys = undefined;
  }

  jobsFor(prompt: string): UpstreamJob[] {
    return this.jobs.filter((job) => job.prompt === prompt);
  }

  /** Starts every job of a prompt. */
  begin(prompt: string): void {
    for (const job of this.jobsFor(prompt)) job.startedAt ??= Date.now();
  }

  /**
   * Ends every job of a prompt, also one that has already ended in another way. If the worker has not submitted any
   * yet, the first one ends when it does.
   */
  end(prompt: string, kind: JobOutcome['kind']): void {
    const jobs = this.jobsFor(prompt);
    if (jobs.length === 0) this.#earlyEnds.set(prompt, kind);
    for (const job of jobs) this.finish(job, kind);
  }

  finish(job: UpstreamJob, kind: JobOutcome['kind'], reason: JobFailure['reason'] = 'invalid input'): void {
    const { renderRequest } = job;
    const isVideo = renderRequest.kind === 'video';
    const file = isVideo ? { extension: 'mp4', type: 'video/mp4' } : { extension: 'png', type: 'image/png' };
    const names = Array.from({ length: renderRequest.kind === 'image' ? renderRequest.count : 1 }, (_, index) =>
      [encodeURIComponent(job.id), ...(index === 0 ? [] : [index + 1]), file.extension].join('.'),
    );
    job.completedAt = Date.now();
    job.outcome =
      kind === 'failed'
        ? { kind, reason, message: this.failure }
        : {
            kind,
            files: names.map((name) => ({ name, contentType: file.type, sizeBytes: this.readFile(name).length })),
          };
    this.#ends.emit('end', job);
    const callback = this.buildCallback(job);
    if (callback !== null) this.deliver(callback, job);
  }

  /** Builds the call-back of a job that has ended; null if none was asked for. */
  buildCallback(job: UpstreamJob, at?: Date): Callback | null {
    return buildCallback(job, { base: this.url, callbackKeys: this.callbackKeys, outputFields: {} }, at);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parsed = await readRequest(request);
    this.requests.push({ call: `${parsed.method} ${parsed.path}`, authorization: parsed.headers.authorization });
    const routed: RoutedRequest = routeRequest(
      parsed,
      this.context(parsed, request.socket, () => routed.operation),
    );
    const { operation, jobId } = routed;
    if (operation === 'submit') {
      this.submits += 1;
      await this.submitHold;
    }
    if (operation === 'status' || operation === 'result') this.find(jobId)?.polls.push(Date.now());
    const fault = operation === null ? undefined : (this.findPromptFault(parsed) ?? this[operation]);
    if (misbehave(fault, request, response)) return;
    const answer = await routed.respond();
    const asked = operation === 'status' ? this.find(jobId) : undefined;
    if (asked?.startedAt === null) asked.seenWaitingAt = Date.now();
    if ('file' in answer && fault === 'lose') response.writeHead(404).end();
    else if ('file' in answer) {
      const type = answer.file.endsWith('.mp4') ? 'video/mp4' : 'image/png';
      response.writeHead(200, { 'content-type': type }).end(this.readFile(answer.file));
    } else this.send(answer, operation, response);
  }

  private findPromptFault({ method, body }: ProtocolRequest): UpstreamFault | undefined {
    if (method !== 'POST' || this.submitByPrompt.size === 0) return undefined;
    const text = JSON.stringify(body);
    return [...this.submitByPrompt].find(([prompt]) => text.includes(prompt))?.[1];
  }

  private send({ status, body, headers }: JsonResponse, operation: Operation | null, response: ServerResponse): void {
    const json = Buffer.from(JSON.stringify(operation === null ? body : this.changeBody(body, operation)));
    const text = this.isCompressing ? gzipSync(json) : json;
    const coding = this.isCompressing ? { 'content-encoding': 'gzip' } : {};
    const type = { 'content-type': 'application/json', 'content-length': text.length };
    response.writeHead(status, { ...type, ...coding, ...headers });
    const isCut = operation !== null && this[operation] === 'drop in the middle';
    if (isCut) response.write(text.subarray(0, text.length / 2), () => response.destroy());
    else response.end(text);
  }

  private context(request: ProtocolRequest, socket: Socket, operation: () => Operation | null): ProtocolContext {
    const isLost = () => {
      const current = operation();
      return current !== null && this[current] === 'lose';
    };
    return {
      base: this.url,
      acceptsKey: (key) => this.key === null || key === this.key,
      rejects: () => this.submit === 'refuse',
      readFile: async (name) => this.readFile(name),
      callbackKeys: this.callbackKeys,
      outputFields: {},
      jobs: {
        submit: (submission) => this.accept(submission, request, socket),
        find: (namespace, id) => (isLost() ? undefined : this.find(id, namespace)),
        queuePosition: () => 0,
        waitForEnd: (job) => this.waitForEnd(job),
        cancel: (job) => this.cancelJob(job as UpstreamJob),
        remove: (job) => {
          (job as UpstreamJob).removed = true;
        },
      },
    };
  }

  private accept(submission: JobSubmission, request: ProtocolRequest, socket: Socket): UpstreamJob {
    const { prompt } = submission.renderRequest;
    const recorded = {
      prompt,
      request,
      polls: [],
      seenWaitingAt: null,
      cancelled: false,
      cancelledAt: null,
      removed: false,
    };
    const now = Date.now();
    const times = { submittedAt: now, startedAt: this.isQueueing ? null : now, completedAt: null };
    const job: UpstreamJob = { ...submission, ...recorded, ...times, outcome: null };
    this.jobs.push(job);
    this.onAccepted(job);
    if (this.submit === 'drop after acceptance') socket.destroy();
    const earlyEnd = this.#earlyEnds.get(prompt);
    this.#earlyEnds.delete(prompt);
    if (earlyEnd !== undefined) this.finish(job, earlyEnd);
    else if (this.outcome !== 'wait') this.finish(job, this.outcome === 'succeed' ? 'succeeded' : 'failed');
    return job;
  }

  /** Finds a job. Recent ones are the most likely. */
  private find(id: string | undefined, namespace?: string): UpstreamJob | undefined {
    return this.jobs.findLast((job) => job.id === id && (namespace === undefined || job.namespace === namespace));
  }

  private cancelJob(job: UpstreamJob): boolean {
    job.cancelled = true;
    job.cancelledAt ??= Date.now();
    if (job.outcome !== null) return false;
    this.finish(job, 'failed', 'cancelled');
    return true;
  }

  private async waitForEnd(job: Job): Promise<JobOutcome> {
    if (this.delayMs > 0) await sleep(this.delayMs);
    while (job.outcome === null) await once(this.#ends, 'end');
    return job.outcome;
  }

  private readFile(name: string): Buffer {
    return name.endsWith('.mp4') ? MP4 : this.picture;
  }
}

/** Returns true if a job was submitted as a form. */
export function isForm({ request }: UpstreamJob): boolean {
  return request.headers['content-type']?.startsWith('multipart/form-data') === true;
}
