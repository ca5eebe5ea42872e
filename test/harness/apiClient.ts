import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type IncomingMessage,
  request as sendHttpRequest,
} from 'node:http';
import { connect, type TcpNetConnectOpts } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { assertMatchesOpenApi } from './openapiValidation.ts';

export interface ApiResponse {
  status: number;
  headers: Headers;
  // Tests read responses of every shape.
  body: any;
}

type TextResponse = Pick<ApiResponse, 'status' | 'headers'> & { text: string };

export interface RequestOptions {
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  rawBody?: string | Uint8Array;
  headers?: Record<string, string>;
}

const createConnection = (address: TcpNetConnectOpts) => connect(address).on('error', () => {});

/**
 * Creates an agent whose connections may break while a body is still being sent after its response has arrived. Node
 * has no listener for that error, so that it would end the process.
 */
export function createAgent(options: AgentOptions): Agent {
  return Object.assign(new Agent(options), { createConnection });
}

const agent = createAgent({ keepAlive: true });
const JSON_CONTENT = { 'content-type': 'application/json' };
/** Reads that do not wait, before those that do. */
const READS_AT_ONCE = 5;

/**
 * Sends one HTTP request to the service: JSON in, JSON out, whatever the status. Fails if the response does not match
 * the OpenAPI document.
 */
export async function request(
  baseUrl: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<ApiResponse> {
  const raw = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const headers = { ...(raw === undefined ? {} : JSON_CONTENT), ...options.headers };
  const { text, ...head } = await exchange(new URL(path, baseUrl), { method, headers, body: raw });
  const reply = { ...head, body: text === '' ? undefined : parseJsonOrText(text) };
  assertMatchesOpenApi(method, path, reply);
  return reply;
}

/**
 * Sends one request and receives the whole response, whatever its status. `fetch` would take three times as much
 * processor time.
 */
export function exchange(
  url: URL,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string | Uint8Array | undefined },
): Promise<TextResponse> {
  // Node adds the length of a body to some methods only.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = sendHttpRequest(url, { agent, method, headers: { ...length, ...headers } });
  sent.end(body);
  return receiveResponse(sent);
}

/** Receives the whole response to a request. */
export async function receiveResponse(sent: ClientRequest): Promise<TextResponse> {
  // After a response that did not wait for the whole body, the connection may break.
  sent.on('error', () => {});
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  return { status: response.statusCode as number, headers, text: await readText(response) };
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } } as const;
export const VIDEO = { model: 'vidmodel-video', params: { duration: 5, resolution: '720p' } } as const;

/** A signed-in customer with an API key. */
export class TestCustomer {
  readonly baseUrl: string;
  readonly email: string;
  readonly cookie: string;
  readonly key: string;

  constructor(baseUrl: string, email: string, cookie: string, key: string) {
    this.baseUrl = baseUrl;
    this.email = email;
    this.cookie = cookie;
    this.key = key;
  }

  /** The same customer at another API process. */
  on(baseUrl: string): TestCustomer {
    return new TestCustomer(baseUrl, this.email, this.cookie, this.key);
  }

  /** Sends a request with the API key. */
  request(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const headers = { authorization: `Bearer ${this.key}`, ...options.headers };
    return request(this.baseUrl, method, path, { ...options, headers });
  }

  /** Sends a request with the session cookie, as from one of our pages. */
  requestWithSession(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const headers = { cookie: this.cookie, origin: new URL(this.baseUrl).origin, ...options.headers };
    return request(this.baseUrl, method, path, { ...options, headers });
  }

  createGeneration(order: { model: string; params: object; prompt?: string }): Promise<ApiResponse> {
    return this.request('POST', '/api/generations/create/', { body: { prompt: 'a lighthouse', ...order } });
  }

  /** Creates an image, which must be accepted. @returns its generation. */
  async createImage(prompt = `an image ${randomUUID()}`): Promise<any> {
    return expectCreated(await this.createGeneration({ ...IMAGE, prompt }));
  }

  async createVideo(prompt = `a video ${randomUUID()}`): Promise<any> {
    return expectCreated(await this.createGeneration({ ...VIDEO, prompt }));
  }

  readGeneration(uuid: string): Promise<ApiResponse> {
    return this.request('GET', `/api/generations/${uuid}/`);
  }

  /**
   * Reads until the generation has ended. The first read after the submit has the upstream polled, which ends most
   * generations. Later reads wait, which takes less processor time; each of them may have the upstream polled again.
   */
  async waitForEnd(uuid: string, withinMs = 45_000): Promise<any> {
    const until = Date.now() + withinMs;
    for (let reads = 0; ; reads += 1) {
      const wait = reads < READS_AT_ONCE ? 0 : 1;
      const { status, body } = await this.request('GET', `/api/generations/${uuid}/?wait=${wait}`);
      // A 503 is transient: read again, as for a queued generation.
      if (status !== 503 && body.status !== 'queued') return body;
      if (Date.now() > until) throw new Error(`${uuid} is still queued after ${withinMs} ms.`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async balance(): Promise<number> {
    return (await this.request('GET', '/api/usage/summary/')).body.credits.balance;
  }

  /** All ledger entries, oldest first, as `[type, amount]`. */
  async ledger(): Promise<[string, number][]> {
    const entries: [string, number][] = [];
    for (let path: string | null = '/api/ledger/'; path !== null; ) {
      const { body }: ApiResponse = await this.request('GET', path);
      for (const entry of body.data) entries.unshift([entry.entry_type, entry.amount]);
      path = body.pagination.next;
    }
    return entries;
  }
}

function expectCreated({ status, body }: ApiResponse): any {
  if (status !== 201) throw new Error(`Not accepted: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Signs in a new customer, with a plan unless `plan` is null, and creates an API key. */
export async function createCustomer(baseUrl: string, plan: string | null = 'pro'): Promise<TestCustomer> {
  const email = `${randomUUID()}@example.com`;
  const signIn = await request(baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email } });
  const cookie = signIn.headers.getSetCookie()[0]?.split(';')[0];
  if (cookie === undefined) throw new Error(`Not signed in: ${signIn.status} ${JSON.stringify(signIn.body)}`);
  const session = new TestCustomer(baseUrl, email, cookie, '');
  const send = async (path: string, body: object, status: number): Promise<any> => {
    const response = await session.requestWithSession('POST', path, { body });
    if (response.status === status) return response.body;
    throw new Error(`${path} returned ${response.status} ${JSON.stringify(response.body)}`);
  };
  if (plan !== null) await send('/api/billing/checkout/', { plan }, 200);
  const { key } = await send('/api/keys/create/', { name: 'test' }, 201);
  return new TestCustomer(baseUrl, email, cookie, key);
}
