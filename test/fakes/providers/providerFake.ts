import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { HttpFake } from '../httpFake.ts';
import { type Misbehaviour, misbehave, MP4, PNG, type VerbatimResponse } from '../misbehave.ts';

/** A request, with the fields of its body. Files of a form are `{ type, bytes }`. */
export interface ProviderRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Record<string, any>;
}

export interface ProviderJob {
  id: string;
  /** Body of the submit. */
  input: Record<string, any>;
  state: 'queued' | 'running' | 'succeeded' | 'failed' | 'policy';
  polls: number;
}

/** A response: JSON, or a file. */
export type ProviderAnswer =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | { file: Buffer; type: string; headers?: Record<string, string> };

export interface ProviderRoute {
  operation: 'submit' | 'upload' | 'status' | 'result' | 'cancel' | 'file' | 'probe';
  method: string;
  path: RegExp;
  /** True for addresses that need no key. */
  isPublic?: true;
  /** Type of the body. Default: none. */
  accepts?: 'application/json' | 'multipart/form-data';
  /** JSON Schema of the body, from the documentation: what it does not name is refused. */
  schema?: object;
  respond(request: ProviderRequest, groups: Record<string, string>): ProviderAnswer;
}

/** Outputs at addresses that need no key, by the end of their name. */
export const servePublicFile = (path: RegExp): ProviderRoute => ({
  operation: 'file',
  method: 'GET',
  path,
  isPublic: true,
  respond: (request) =>
    request.path.endsWith('.mp4') ? { file: MP4, type: 'video/mp4' } : { file: PNG, type: 'image/png' },
});

/**
 * A strict fake of a provider's API, built from its documentation. It refuses what the documentation does not allow, as
 * the provider would, and keeps the reasons in `refusals`.
 */
export abstract class ProviderFake extends HttpFake {
  readonly key = 'key-of-the-test';
  readonly jobs: ProviderJob[] = [];
  /** Ids of jobs that were canceled before they ran. */
  readonly canceled: string[] = [];
  readonly refusals: string[] = [];
  readonly calls: string[] = [];
  /** End of new jobs; `wait` leaves that to {@link end}. */
  outcome: 'succeeded' | 'failed' | 'policy' | 'wait' = 'succeeded';
  /** State of new jobs that wait. */
  waitsAs: 'queued' | 'running' = 'running';
  /** Misbehavior by operation, until it is removed. */
  faults: Partial<Record<ProviderRoute['operation'], Misbehaviour | VerbatimResponse>> = {};
  /** The documented response to a prompt that the content policy does not allow, at the submit. */
  rejectsPrompts = false;

  protected abstract readonly routes: ProviderRoute[];
  /** The documented responses to a request without the key, for no address, and with an invalid body. */
  protected abstract readonly unauthorized: ProviderAnswer;
  protected abstract readonly notFound: ProviderAnswer;
  protected abstract invalid(problem: string): ProviderAnswer;

  /**
   * Returns true if a request has the key where the documentation wants it: as a bearer token unless it says otherwise.
   */
  protected isAuthorized({ headers }: ProviderRequest): boolean {
    return headers.authorization === `Bearer ${this.key}`;
  }

  reset(): void {
    this.outcome = 'succeeded';
    this.waitsAs = 'running';
    this.faults = {};
    this.rejectsPrompts = false;
    this.refusals.length = this.calls.length = this.jobs.length = this.canceled.length = 0;
  }

  /** Ends the jobs that wait. */
  end(state: 'succeeded' | 'failed' | 'policy'): void {
    for (const job of this.jobs) if (job.state === 'running' || job.state === 'queued') job.state = state;
  }

  protected accept(input: Record<string, any>): ProviderJob {
    const state = this.outcome === 'wait' ? this.waitsAs : this.outcome;
    const job: ProviderJob = { id: randomUUID(), input, state, polls: 0 };
    this.jobs.push(job);
    return job;
  }

  protected find(id: string | null | undefined): ProviderJob | undefined {
    const job = this.jobs.find((one) => one.id === id);
    if (job !== undefined) job.polls += 1;
    return job;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await request.toArray());
    const { pathname: path, searchParams: query } = new URL(request.url as string, this.url);
    this.calls.push(`${request.method} ${request.url}`);
    const route = this.routes.find((one) => one.method === request.method && one.path.test(path));
    if (route === undefined) return send(response, this.refuse(this.notFound, `no route ${request.method} ${path}`));
    if (misbehave(this.faults[route.operation], request, response)) return;
    const { method = '', headers } = request;
    const type = headers['content-type']?.split(';')[0];
    const parsed = { method, path, query, headers, body: await parseBody(bytes, headers['content-type']) };
    if (route.isPublic !== true && !this.isAuthorized(parsed)) return send(response, this.unauthorized);
    if (route.isPublic === true && this.isAuthorized(parsed))
      return send(response, this.refuse(this.notFound, 'the key was sent to a public address'));
    if (type !== route.accepts) return send(response, this.refuse(this.invalid(`type ${type}`), `type ${type}`));
    const problem = validate(route.schema, parsed.body);
    if (problem !== undefined) return send(response, this.refuse(this.invalid(problem), problem));
    return send(response, route.respond(parsed, route.path.exec(path)?.groups ?? {}));
  }

  protected refuse(answer: ProviderAnswer, reason: string): ProviderAnswer {
    this.refusals.push(reason);
    return answer;
  }
}

function send(response: ServerResponse, answer: ProviderAnswer): void {
  if ('file' in answer) response.writeHead(200, { 'content-type': answer.type, ...answer.headers }).end(answer.file);
  else {
    const headers = { 'content-type': 'application/json', ...answer.headers };
    response.writeHead(answer.status, headers).end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  }
}

async function parseBody(bytes: Buffer<ArrayBuffer>, type = ''): Promise<Record<string, any>> {
  if (bytes.length === 0) return {};
  if (!type.startsWith('multipart/')) return JSON.parse(bytes.toString());
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields = [...form].map(async ([name, value]): Promise<[string, unknown]> => {
    if (typeof value === 'string') return [name, value];
    return [name, { type: value.type, bytes: Buffer.from(await value.arrayBuffer()).toString('base64') }];
  });
  return Object.fromEntries(await Promise.all(fields));
}

const ajv = new Ajv2020({ allErrors: true, strict: false });
const compiled = new WeakMap<object, ValidateFunction>();

function validate(schema: object | undefined, body: object): string | undefined {
  if (schema === undefined) return undefined;
  const check = compiled.get(schema) ?? ajv.compile({ type: 'object', additionalProperties: false, ...schema });
  compiled.set(schema, check);
  return check(body) ? undefined : ajv.errorsText(check.errors, { dataVar: 'body' });
}

/** A provider in the test of all providers. */
export interface ProviderCase {
  /** Its name in UPSTREAMS. */
  provider: string;
  fake: ProviderFake;
  /** Path of `base_url` below the address of the fake. */
  basePath: string;
  kind: 'image' | 'video';
  model: string;
  /** Parameters of the model in the catalog; the first values are those of the test. */
  params: Record<string, object>;
  /** Settings of models in UPSTREAMS, by their ids. Absent: those of the description. */
  models?: Record<string, object>;
  /** Further fields of UPSTREAMS. */
  settings?: Record<string, unknown>;
  /** The body of the submit that the fake must receive; what changes with each submit is in the received one. */
  body: (prompt: string, received: Record<string, any>) => Record<string, unknown>;
  /** The price of a run in cents that is recorded, if the provider reports it or the description has it. */
  cents?: number;
  /** Message of a run that failed. Absent: the provider is synchronous. */
  failure?: string;
  /** Sends the call-back of a job, signed with the secret in `settings`. Absent: it has none. */
  callBack?: (job: ProviderJob) => Promise<Response>;
  /** References that the model takes by default. */
  references?: { max: number; fields: string[]; model?: string };
  /** True for servers of one's own, which refuse no content. */
  hasNoPolicy?: true;
  /** Frames that the model takes by default: their roles, and where the body of the submit has their addresses. */
  frames?: { roles: readonly ('first_frame' | 'last_frame')[]; read: (input: Record<string, any>) => unknown[] };
  /** The provider removes a run from its queue: the state of a run that waits. */
  cancels?: true;
  /** Models that take images in other ways than a list of references in fields of the body. */
  images?: readonly ImageCase[];
}

export interface ImageCase {
  /** Parameters with images, by their roles. A list gets two. */
  inputs: Record<string, { role: string; max?: number }>;
  /** Default: the model and the parameters of the case. */
  model?: string;
  params?: ProviderCase['params'];
  /** Returns the part of a submit's body that the images are in. */
  read: (body: Record<string, any>) => unknown;
  expected: unknown;
}
