import { AsyncLocalStorage } from 'node:async_hooks';
import type { InlineImages, RequestBody } from './requestBody.ts';

/** A request to an upstream, as it is sent: with its key. */
export interface TracedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: RequestBody;
  /** Images whose base64 is sent in the place of a text in the body. */
  inlineImages?: InlineImages | undefined;
}

export interface TracedResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
}

/** Receives the requests to upstreams. An error that `onRequest` throws prevents the request. */
export interface RequestTrace {
  onRequest(request: TracedRequest): void;
  onResponse(response: TracedResponse): void;
  /** @param body the JSON of the response, without an image that it contains; undefined if it is not JSON. */
  onBody(body: unknown): void;
}

const currentTrace = new AsyncLocalStorage<RequestTrace>();

/** Runs a function whose requests to upstreams are traced. */
export function traceRequests<Result>(trace: RequestTrace, run: () => Promise<Result>): Promise<Result> {
  return currentTrace.run(trace, run);
}

/** Returns the trace of the caller, or undefined. */
export function getRequestTrace(): RequestTrace | undefined {
  return currentTrace.getStore();
}
