import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { serveParent } from '../childProcess.ts';

/**
 * The official SDK's server as in its documentation, with one tool that does nothing: built per request on one port,
 * and kept per session on the other. It checks no keys and stores nothing outside the process.
 */
const sessions = new Map<string, StreamableHTTPServerTransport>();

async function connect(transport: StreamableHTTPServerTransport): Promise<McpServer> {
  const server = new McpServer({ name: 'bare', version: '1.0.0' });
  server.registerTool('get_usage', { description: 'Nothing.' }, () => ({
    content: [{ type: 'text', text: 'nothing' }],
  }));
  await server.connect(transport);
  return server;
}

async function servePerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  const server = await connect(transport);
  response.once('close', () => void server.close());
  await transport.handleRequest(request, response);
}

async function servePerSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  if (known !== undefined) return known.handleRequest(request, response);
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await connect(transport);
  await transport.handleRequest(request, response);
}

async function listen(serve: typeof servePerRequest): Promise<number> {
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const ports = { built: await listen(servePerRequest), kept: await listen(servePerSession) };
const handlers = { ports: () => ports };
export type BareMcp = typeof handlers;

serveParent(handlers);
