import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ApiResponse, type TestCustomer, request, type RequestOptions } from './apiClient.ts';

/** The generations of the official client: the one most MCP hosts use, and its successor in both its modes. */
export const CLIENT_NAMES = ['sdk 1', 'sdk 2', 'sdk 2, stateless'] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];

/** The operations that tests use, which are the same for all clients. */
export interface McpTestClient {
  client: any;
  transport: any;
  close(): Promise<void>;
}

/** Connects an official client with a customer's key. */
export async function connectMcpClient(
  customer: TestCustomer,
  name: ClientName = 'sdk 1',
  baseUrl = customer.baseUrl,
): Promise<McpTestClient> {
  const url = new URL('/mcp', baseUrl);
  const options = { requestInit: { headers: { authorization: `Bearer ${customer.key}` } } };
  const introduction = { name: 'test', version: '1.0.0' };
  const mode = name === 'sdk 2, stateless' ? { pin: '2026-07-28' } : 'legacy';
  const client: any =
    name === 'sdk 1'
      ? new Client(introduction)
      : new NewClient(introduction, { versionNegotiation: { mode } } as never);
  const transport: any =
    name === 'sdk 1' ? new StreamableHTTPClientTransport(url, options) : new NewTransport(url, options);
  await client.connect(transport);
  return { client, transport, close: () => client.close() };
}

export const ACCEPT_JSON_OR_SSE = 'application/json, text/event-stream';

/** Sends one POST to /mcp, as a hand-written client would. */
export function postMcp(customer: TestCustomer, message: unknown, options: RequestOptions = {}): Promise<ApiResponse> {
  const headers = { accept: ACCEPT_JSON_OR_SSE, authorization: `Bearer ${customer.key}`, ...options.headers };
  return request(customer.baseUrl, 'POST', '/mcp', { body: message, ...options, headers });
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
};

/** Metadata in each request of the stateless mode. */
export const STATELESS_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Initializes a session. @returns the headers of its further requests. */
export async function openMcpSession(customer: TestCustomer): Promise<Record<string, string>> {
  const { status, headers, body } = await postMcp(customer, INITIALIZE);
  const id = headers.get('mcp-session-id');
  if (status !== 200 || id === null) throw new Error(`No session: ${status} ${JSON.stringify(body)}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

export function buildToolCall(name: string, args: object = {}, id: number | string = 1, meta?: object) {
  const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
  return { jsonrpc: '2.0', id, method: 'tools/call', params };
}

/** The event stream of a session. */
export class McpEventStream {
  readonly received: { id: string | undefined; data: any }[] = [];
  isEnded = false;
  readonly status: number;
  private readonly waiting = new Set<() => void>();
  private readonly stopper: AbortController;

  private constructor(response: Response, stopper: AbortController) {
    this.status = response.status;
    this.stopper = stopper;
    void this.read(response).catch(() => {});
  }

  static async open(
    customer: TestCustomer,
    headers: Record<string, string>,
    { baseUrl = customer.baseUrl, lastEventId }: { baseUrl?: string; lastEventId?: string | undefined } = {},
  ): Promise<McpEventStream> {
    const stopper = new AbortController();
    const response = await fetch(new URL('/mcp', baseUrl), {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${customer.key}`,
        ...headers,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: stopper.signal,
    });
    return new McpEventStream(response, stopper);
  }

  /** The last event id. */
  get lastEventId(): string | undefined {
    return this.received.findLast(({ id }) => id !== undefined)?.id;
  }

  /** The messages, without events that only carry an id. */
  get messages(): any[] {
    return this.received.map(({ data }) => data).filter((data) => data !== '');
  }

  /** Resolves when a condition on the received events holds; checked at each event. */
  async waitFor(what: string, holds: (events: McpEventStream) => boolean, withinMs = 15_000): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!holds(this)) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0)
        throw new Error(`Not within ${withinMs} ms: ${what}. Received: ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, leftMs);
        this.waiting.add(wake);
      });
    }
  }

  /** Closes the connection. */
  close(): void {
    this.stopper.abort();
  }

  private async read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          this.parseEvent(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } finally {
      this.isEnded = true;
      this.wake();
    }
  }

  private parseEvent(event: string): void {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(event)?.[1];
    const data = field('data');
    if (data === undefined) return;
    this.received.push({ id: field('id'), data: data === '' ? '' : JSON.parse(data) });
    this.wake();
  }

  private wake(): void {
    for (const wake of this.waiting) wake();
  }
}
