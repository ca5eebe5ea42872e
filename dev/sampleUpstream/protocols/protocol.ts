import type { KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Job, JobStore } from '../jobStore.ts';
import type { RenderRequest } from '../renderRequests.ts';
import type { ParsedBody } from './requestBody.ts';

/** Kinds of requests, the same in every protocol. */
export type Operation = 'submit' | 'status' | 'result' | 'cancel' | 'file' | 'probe' | 'keys';

/** A request, parsed as far as every protocol needs it. */
export interface ProtocolRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: ParsedBody;
}

/** JSON with a status and additional headers, or the name of a file. */
export type ProtocolResponse = JsonResponse | { file: string };

export interface JsonResponse {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** Keys that call-backs are signed with: fal's key pair and Replicate's secret. */
export interface CallbackKeys {
  /** JSON Web Key Set with the public key. */
  keySet: { keys: object[] };
  privateKey: KeyObject;
  /** Secret of Standard Webhooks, with its prefix. */
  secret: string;
}

/** Functions of the server that a protocol uses. */
export interface ProtocolContext {
  /** Address of the server, without a trailing slash. */
  base: string;
  jobs: Pick<JobStore, 'submit' | 'find' | 'queuePosition' | 'waitForEnd' | 'cancel' | 'remove'>;
  /** @param key undefined if the request has none. */
  acceptsKey: (key: string | undefined) => boolean;
  /** Returns true if a submission is to be rejected by the content policy. */
  rejects: (renderRequest: RenderRequest) => boolean;
  readFile: (name: string) => Promise<Buffer>;
  /** Keys that call-backs are signed with. */
  callbackKeys: CallbackKeys;
  /** Fields added to every response with an output. */
  outputFields: object;
}

/** Parts of the context that a call-back is built from. */
export type CallbackContext = Pick<ProtocolContext, 'base' | 'callbackKeys' | 'outputFields'>;

/** A kind of request that a protocol answers. Parameters are the named groups of its path, decoded. */
export interface Route {
  method: string;
  path: RegExp;
  operation: Operation;
  respond(
    context: ProtocolContext,
    request: ProtocolRequest,
    parameters: Record<string, string>,
  ): ProtocolResponse | Promise<ProtocolResponse>;
}

export interface Protocol {
  /** Scheme of the `Authorization` header, which every request needs. */
  scheme: 'Key' | 'Bearer';
  routes: Route[];
  unauthorized: JsonResponse;
  notFound(request: ProtocolRequest): JsonResponse;
}

/** Headers of a response to a client that finds too many jobs waiting. */
export const RETRY_LATER = { 'Retry-After': '5' };

/** Returns a job in its state at submission, for the response that accepts it. */
export function asSubmitted(job: Job): Job {
  return { ...job, startedAt: null, completedAt: null, outcome: null };
}
