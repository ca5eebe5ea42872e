import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpFake } from './httpFake.ts';

/** A tool that a program offers to its model, as the model has to name it. */
interface OfferedTool {
  name: string;
  namespace?: string;
}

/** Protocol of a model provider: what a request offers and contains, and how responses are written. */
interface Dialect {
  findTools(body: any): OfferedTool[];
  /** Text of the result of the last tool call; null if the last message is not one. */
  findResult(body: any): string | null;
  respond(response: ServerResponse, reply: { call: OfferedTool } | { text: string }, body: any): void;
}

/**
 * A fake of the model APIs of Anthropic, OpenAI and Google. Its model calls the tool `get_usage` once, without
 * arguments, and then ends its turn. It records what the program returned for the call.
 */
export class FakeModelApi extends HttpFake {
  /** Results of the tool as the model received them. */
  readonly results: string[] = [];
  /** Names of the tools that were offered. */
  readonly offered = new Set<string>();

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url as string, this.url);
    const text = Buffer.concat(await request.toArray()).toString();
    const dialect = findDialect(pathname);
    if (request.method !== 'POST' || dialect === undefined) return sendJson(response, {});
    const body = JSON.parse(text);
    const tools = dialect.findTools(body);
    for (const { name } of tools) this.offered.add(name);
    const result = dialect.findResult(body);
    if (result !== null) this.results.push(result);
    const tool = tools.find(({ name }) => name.endsWith('get_usage'));
    const isCall = tool !== undefined && result === null;
    const isStream = body.stream === true || pathname.includes(':stream');
    dialect.respond(response, isCall ? { call: tool } : { text: 'Done.' }, { ...body, stream: isStream });
  }
}

function findDialect(path: string): Dialect | undefined {
  if (path.endsWith('/messages')) return anthropic;
  if (path.endsWith('/responses')) return openai;
  return /:(?:stream)?generateContent$/i.test(path) ? google : undefined;
}

function sendJson(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

/** Sends server-sent events, each named by the `type` of its data. */
function sendEvents(response: ServerResponse, events: readonly object[]): void {
  response.setHeader('content-type', 'text/event-stream');
  for (const event of events) {
    const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

const toText = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content));

const anthropic: Dialect = {
  findTools: ({ tools = [] }) => tools,
  findResult: ({ messages }) => {
    const content = messages.findLast(({ role }: any) => role === 'user')?.content;
    const result = Array.isArray(content) ? content.find(({ type }) => type === 'tool_result') : undefined;
    return result === undefined ? null : toText(result.content);
  },
  respond: (response, reply, { model, stream }) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model, usage };
    const isCall = 'call' in reply;
    const block = isCall
      ? { type: 'tool_use', id: `toolu_${randomUUID()}`, name: reply.call.name, input: {} }
      : { type: 'text', text: '' };
    const delta = isCall ? { type: 'input_json_delta', partial_json: '{}' } : { type: 'text_delta', text: reply.text };
    const stop = { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null };
    if (stream !== true) {
      return sendJson(response, { ...message, content: [isCall ? block : { ...block, ...reply }], ...stop });
    }
    sendEvents(response, [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: stop, usage },
      { type: 'message_stop' },
    ]);
  },
};

/** Tools that Codex adds as messages. */
const findAdditionalTools = (input: any): any[] =>
  Array.isArray(input) ? input.flatMap(({ type, tools }) => (type === 'additional_tools' ? tools : [])) : [];

const openai: Dialect = {
  findTools: ({ tools = [], input }) =>
    [...tools, ...findAdditionalTools(input)].flatMap((tool) =>
      tool.type === 'namespace'
        ? tool.tools.map(({ name }: OfferedTool) => ({ name, namespace: tool.name }))
        : [{ name: tool.name ?? '' }],
    ),
  findResult: ({ input }) => {
    const last = Array.isArray(input) ? input.at(-1) : undefined;
    return last?.type === 'function_call_output' ? toText(last.output) : null;
  },
  respond: (response, reply, { model, stream }) => {
    const item =
      'call' in reply
        ? {
            type: 'function_call',
            id: `fc_${randomUUID()}`,
            call_id: `call_${randomUUID()}`,
            ...reply.call,
            arguments: '{}',
          }
        : {
            type: 'message',
            id: `msg_${randomUUID()}`,
            role: 'assistant',
            content: [{ type: 'output_text', text: reply.text, annotations: [] }],
          };
    const output = [{ status: 'completed', ...item }];
    const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, ...details };
    const created = { id: `resp_${randomUUID()}`, object: 'response', created_at: 0, model, status: 'in_progress' };
    const completed = { ...created, status: 'completed', output, usage };
    if (stream !== true) return sendJson(response, completed);
    sendEvents(response, [
      { type: 'response.created', response: { ...created, output: [] } },
      { type: 'response.output_item.done', output_index: 0, item: output[0] },
      { type: 'response.completed', response: completed },
    ]);
  },
};

const google: Dialect = {
  findTools: ({ tools = [] }) => tools.flatMap(({ functionDeclarations = [] }: any) => functionDeclarations),
  findResult: ({ contents }) => {
    const part = contents.at(-1)?.parts.find((one: any) => one.functionResponse !== undefined);
    return part === undefined ? null : JSON.stringify(part.functionResponse.response);
  },
  respond: (response, reply, { stream }) => {
    const part = 'call' in reply ? { functionCall: { name: reply.call.name, args: {} } } : { text: reply.text };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }];
    const body = { candidates, usageMetadata };
    if (stream === true) sendEvents(response, [body]);
    else sendJson(response, body);
  },
};
