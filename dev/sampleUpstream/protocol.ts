import type { IncomingMessage } from 'node:http';
import type { JobStore } from './jobStore.ts';
import type { MediaFiles } from './mediaFiles.ts';

/** A request, taken apart as far as every protocol needs it. */
export interface ProtocolRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  request: IncomingMessage;
}

/** JSON with a status and headers beyond the usual, or a rendered file by its name. */
export type ProtocolResponse = JsonResponse | { file: string };

export interface JsonResponse {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** One protocol: it answers whatever is asked under its addresses. */
export type ProtocolHandler = (question: ProtocolRequest) => Promise<ProtocolResponse>;

/** What every protocol stands on. */
export interface SampleContext {
  /** Where this server is reached, without a slash at the end. */
  base: string;
  jobs: JobStore;
  files: MediaFiles;
}

/** Whether a request carries a key after the word that its protocol wants. Any key will do, but there has to be one. */
export function hasApiKey({ request }: ProtocolRequest, scheme: 'Key' | 'Bearer'): boolean {
  const [word, key, ...rest] = (request.headers.authorization ?? '').split(' ');
  return word === scheme && key !== undefined && key !== '' && rest.length === 0;
}

/** When to come back, for whoever finds too many jobs waiting. */
export const RETRY_LATER = { 'Retry-After': '5' };
