import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { type ApiResponse, createAgent, receiveResponse } from './apiClient.ts';

/** Opens a connection for each request. */
const connectionPerRequest = createAgent({ keepAlive: false });

export interface RawRequestOptions {
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
}

/** Sends a request with an unchanged path: `fetch` would resolve dots and drop what it takes for an error. */
export async function sendRawRequest(
  baseUrl: string,
  method: string,
  path: string,
  { headers = {}, body }: RawRequestOptions = {},
): Promise<ApiResponse & { text: string }> {
  const { hostname, port } = new URL(baseUrl);
  const request = httpRequest({ hostname, port, method, path, headers, agent: connectionPerRequest });
  request.end(body);
  const { status, headers: received, text } = await receiveResponse(request);
  const isJson = received.get('content-type')?.includes('json') === true && text !== '';
  return { status, headers: received, body: isJson ? JSON.parse(text) : undefined, text };
}

/** Sends arbitrary bytes. @returns the response until the service closed the connection. */
export async function sendRawBytes(baseUrl: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  // Closing the connection is an acceptable response to malformed HTTP.
  socket.on('error', () => {});
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return reply;
}

/** A request whose head the service has read, and whose body has not been sent. */
export interface UnfinishedRequest {
  end(body: string | Uint8Array): void;
  /** The response until the connection was closed, without the `100 Continue`. */
  reply: Promise<string>;
}

/** Sends the head of a request whose body has two bytes, and waits until the service has read it. */
export async function sendRequestHead(
  baseUrl: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<UnfinishedRequest> {
  const { hostname, port, host } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const fields = {
    host,
    'content-type': 'application/json',
    'content-length': '2',
    expect: '100-continue',
    ...headers,
  };
  const lines = Object.entries({ connection: 'close', ...fields }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  return {
    end: (body) => socket.write(body),
    // Both responses may arrive in one packet.
    reply: once(socket, 'close').then(() => received.replace(/^HTTP\/1\.1 100 [^]*?\r\n\r\n/, '')),
  };
}
