/**
 * Streamable HTTP as a hand-written MCP client speaks it (docs/mcp.md). Tests, chaos and bench send these messages over
 * transports of their own.
 */
const PROTOCOL_VERSION = '2025-11-25';

export const ACCEPT_JSON_OR_SSE = 'application/json, text/event-stream';

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
};

export function buildToolCall(name: string, args: object = {}, id: number | string = 1, meta?: object) {
  const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
  return { jsonrpc: '2.0', id, method: 'tools/call', params };
}

const STATELESS_VERSION = '2026-07-28';

/** Metadata in each request of the stateless mode. */
export const STATELESS_META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS_VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Builds the headers of a tool call in the stateless mode. */
export function buildStatelessCallHeaders(tool: string): Record<string, string> {
  return { 'mcp-protocol-version': STATELESS_VERSION, 'mcp-method': 'tools/call', 'mcp-name': tool };
}

/** Builds the headers of a message: of a session, unless it initializes one. */
export function buildMcpHeaders(key: string, sessionId?: string): Record<string, string> {
  const session = sessionId === undefined ? {} : buildSessionHeaders(sessionId);
  return { accept: ACCEPT_JSON_OR_SSE, authorization: `Bearer ${key}`, ...session };
}

/** @param id the session id in the response to the initialization. */
export function buildSessionHeaders(id: string): Record<string, string> {
  return { 'mcp-session-id': id, 'mcp-protocol-version': PROTOCOL_VERSION };
}

export interface McpEvent {
  id: string | undefined;
  /** JSON; empty in an event that only carries an id. */
  data: string;
}

/** Parses the complete events at the beginning of an event stream. @returns them, and the rest of the text. */
export function parseEvents(text: string): { events: McpEvent[]; rest: string } {
  const blocks = text.split('\n\n');
  const rest = blocks.pop() ?? '';
  const events = blocks.flatMap((block) => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
    const data = field('data');
    return data === undefined ? [] : [{ id: field('id'), data }];
  });
  return { events, rest };
}
