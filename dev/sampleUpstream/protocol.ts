import type { IncomingMessage } from 'node:http';
import type { JobStore } from './jobStore.ts';
import type { MediaFiles } from './mediaFiles.ts';

/** A request, parsed as far as every protocol needs it. */
export interface ProtocolRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  request: IncomingMessage;
}

/** JSON with a status and additional headers, or the name of a rendered file. */
export type ProtocolResponse = JsonResponse | { file: string };

export interface JsonResponse {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** One protocol: handles every request under its addresses. */
export type ProtocolHandler = (question: ProtocolRequest) => Promise<ProtocolResponse>;

/** Services that every protocol uses. */
export interface SampleContext {
  /** Address of this server, without a trailing slash. */
  base: string;
  jobs: JobStore;
  files: MediaFiles;
}

/** Returns true if a request has a key after the scheme of its protocol. Any key is valid. */
export function hasApiKey({ request }: ProtocolRequest, scheme: 'Key' | 'Bearer'): boolean {
  const [word, key, ...rest] = (request.headers.authorization ?? '').split(' ');
  return word === scheme && key !== undefined && key !== '' && rest.length === 0;
}

/** Headers of a response to a client that finds too many jobs waiting. */
export const RETRY_LATER = { 'Retry-After': '5' };
