import type { JSONRPCRequest } from '@modelcontextprotocol/server';

/** A call of a tool without metadata. */
export interface PlainCall extends JSONRPCRequest {
  method: 'tools/call';
  params: { name: string; arguments?: Record<string, unknown> };
}

/**
 * Recognizes a call in the form that most clients send. The library, which validates each message seven times, would
 * change nothing of it, and nothing of the result.
 */
export function isPlainCall(message: unknown): message is PlainCall {
  if (!isObject(message) || Object.keys(message).length !== 4) return false;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isObject(params)) return false;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return false;
  const { name, arguments: input } = params;
  const fields = input === undefined ? 1 : 2;
  return typeof name === 'string' && Object.keys(params).length === fields && (fields === 1 || isObject(input));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
