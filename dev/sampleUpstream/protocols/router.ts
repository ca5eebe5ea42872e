import type { IncomingMessage } from 'node:http';
import { FAL_PROTOCOL } from './fal.ts';
import { OPENAI_PROTOCOL } from './openai.ts';
import type { Operation, ProtocolContext, ProtocolRequest, ProtocolResponse } from './protocol.ts';
import { REPLICATE_PROTOCOL } from './replicate.ts';
import { parseRequestBody } from './requestBody.ts';

const FILE_PATH = /^\/files\/([^/]+)$/;
const REPLICATE_PATH = /^\/v1\/(predictions|models\/[^/]+\/[^/]+|webhooks\/default)(\/|$)/;
/** Public keys of fal's call-backs, which are on a host of their own there. */
const KEY_SET_PATH = '/.well-known/jwks.json';

/** A request whose route is known, before it is carried out. */
export interface RoutedRequest {
  /** Null for a request that no protocol has, or without a key. */
  operation: Operation | null;
  /** Id of the job that the request is about. */
  jobId: string | undefined;
  respond(): ProtocolResponse | Promise<ProtocolResponse>;
}

/** Reads a request with its body. */
export async function readRequest(request: IncomingMessage): Promise<ProtocolRequest> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
  const { method = '', headers } = request;
  return { method, path, query, headers, body: await parseRequestBody(request) };
}

/**
 * Routes requests: files and public keys, without a key; OpenAI and Replicate under `/v1`; everything else is fal's.
 */
export function routeRequest(request: ProtocolRequest, context: ProtocolContext): RoutedRequest {
  const { method, path, headers } = request;
  const isRead = method === 'GET' || method === 'HEAD';
  const file = FILE_PATH.exec(path)?.[1];
  if (file !== undefined && isRead) return { operation: 'file', jobId: undefined, respond: () => ({ file }) };
  if (path === KEY_SET_PATH && isRead) {
    const { keySet } = context.callbackKeys;
    return { operation: 'keys', jobId: undefined, respond: () => ({ status: 200, body: keySet }) };
  }
  if (path === '/' && isRead) return withoutRoute({ status: 200, body: { service: 'sample upstream' } });
  const isFal = !path.startsWith('/v1/');
  const protocol = isFal ? FAL_PROTOCOL : REPLICATE_PATH.test(path) ? REPLICATE_PROTOCOL : OPENAI_PROTOCOL;
  if (!context.acceptsKey(parseKey(headers.authorization, protocol.scheme))) return withoutRoute(protocol.unauthorized);
  for (const route of protocol.routes) {
    const match = route.method === method ? route.path.exec(path) : null;
    if (match === null) continue;
    const groups = Object.entries(match.groups ?? {});
    const parameters = Object.fromEntries(groups.map(([name, value]) => [name, decodeURIComponent(value)]));
    const respond = () => route.respond(context, request, parameters);
    return { operation: route.operation, jobId: parameters['id'], respond };
  }
  return withoutRoute(protocol.notFound(request));
}

function withoutRoute(response: ProtocolResponse): RoutedRequest {
  return { operation: null, jobId: undefined, respond: () => response };
}

function parseKey(authorization = '', scheme: string): string | undefined {
  const [word, key, ...rest] = authorization.split(' ');
  return word === scheme && key !== '' && rest.length === 0 ? key : undefined;
}
