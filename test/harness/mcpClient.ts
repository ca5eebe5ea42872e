import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { buildMcpHeaders, buildSessionHeaders, INITIALIZE, parseEvents } from '../../dev/local/mcpMessages.ts';
import { type ApiResponse, type TestCustomer, request, type RequestOptions } from './apiClient.ts';
import type { TestService } from './testService.ts';

export {
  ACCEPT_JSON_OR_SSE,
  buildStatelessCallHeaders,
  buildToolCall,
  INITIALIZE,
  STATELESS_META,
} from '../../dev/local/mcpMessages.ts';

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
  capabilities: object = {},
): Promise<McpTestClient> {
  const url = new URL('/mcp', baseUrl);
  const options = { requestInit: { headers: { authorization: `Bearer ${customer.key}` } } };
  const introduction = { name: 'test', version: '1.0.0' };
  const mode = name === 'sdk 2, stateless' ? { pin: '2026-07-28' } : 'legacy';
  const client: any =
    name === 'sdk 1'
      ? new Client(introduction, { capabilities })
      : new NewClient(introduction, { capabilities, versionNegotiation: { mode } } as never);
  const transport: any =
    name === 'sdk 1' ? new StreamableHTTPClientTransport(url, options) : new NewTransport(url, options);
  await client.connect(transport);
  return { client, transport, close: () => client.close() };
}

/** An official client that is connected with the key of a customer of its own. */
export interface ConnectedClient {
  readonly customer: TestCustomer;
  readonly client: any;
  /** Calls a tool. */
  use: (tool: string, args?: object, options?: object) => Promise<any>;
}

/** Describes tests that run with each official client. */
export function describeWithClients(
  { getService, plan }: { getService: () => TestService; plan: string },
  describeTests: (connected: ConnectedClient) => void,
): void {
  for (const name of CLIENT_NAMES) {
    describe(`with the official client (${name})`, () => {
      let customer: TestCustomer;
      let assistant: McpTestClient;
      before(async () => {
        customer = await getService().createCustomer(plan);
        assistant = await connectMcpClient(customer, name);
        // The client validates every result against the schemas of this list.
        await assistant.client.listTools();
      });
      after(() => assistant.close());
      describeTests({
        get customer() {
          return customer;
        },
        get client() {
          return assistant.client;
        },
        use: (tool, args = {}, options = {}) => {
          const call = { name: tool, arguments: args };
          return assistant.client.callTool(call, ...(name === 'sdk 1' ? [undefined, options] : [options]));
        },
      });
    });
  }
}

/** Sends one POST to /mcp, as a hand-written client would. */
export function postMcp(customer: TestCustomer, message: unknown, options: RequestOptions = {}): Promise<ApiResponse> {
  const headers = { ...buildMcpHeaders(customer.key), ...options.headers };
  return request(customer.baseUrl, 'POST', '/mcp', { body: message, ...options, headers });
}

/** Initializes a session. @returns the headers of its further requests. */
export async function openMcpSession(customer: TestCustomer): Promise<Record<string, string>> {
  const { status, headers, body } = await postMcp(customer, INITIALIZE);
  const id = headers.get('mcp-session-id');
  if (status !== 200 || id === null) throw new Error(`No session: ${status} ${JSON.stringify(body)}`);
  return buildSessionHeaders(id);
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
        const { events, rest } = parseEvents(text + Buffer.from(chunk).toString());
        text = rest;
        for (const { id, data } of events) this.received.push({ id, data: data === '' ? '' : JSON.parse(data) });
        if (events.length > 0) this.wake();
      }
    } finally {
      this.isEnded = true;
      this.wake();
    }
  }

  private wake(): void {
    for (const wake of this.waiting) wake();
  }
}
