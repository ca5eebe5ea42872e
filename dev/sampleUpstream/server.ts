import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buildCallback, createCallbackKeys, isLocalCallback, sendCallback } from './callbacks.ts';
import { createJobStore } from './jobStore.ts';
import { openMediaFiles } from './mediaFiles.ts';
import type { ProtocolContext, ProtocolResponse } from './protocols/protocol.ts';
import { readRequest, routeRequest } from './protocols/router.ts';
import { type RenderPool, startRenderPool } from './renderPool.ts';

export interface SampleUpstreamOptions {
  /** 0, the default, is any free port. */
  port?: number;
  /** Minimum time from submission to completion, in milliseconds. Default 1,500. */
  delayMs?: number;
  /** Address to listen on. Default 127.0.0.1. */
  host?: string;
  /** Address at which clients reach it. Default: that on which it listens. */
  publicUrl?: string;
  /** Folder of the rendered files. Default: a temporary folder, deleted at the end. */
  dataDir?: string;
  /** Renders the outputs, and is closed by the caller. Default: a pool of its own. */
  pool?: RenderPool;
}

export interface SampleUpstream {
  /** Address of fal's queue; OpenAI's and Replicate's protocols are below it, at `/v1`. */
  url: string;
  stop(): Promise<void>;
}

const RENDER_THREADS = 2;
const LOCAL_HOST = '127.0.0.1';

/**
 * Starts the sample upstream: a server that speaks the protocols of fal's queue, OpenAI and Replicate, and renders a
 * film or image of the requested size on this machine, at no cost, with the prompt and the word SAMPLE on it. It
 * listens on this machine only, unless a host is given.
 *
 * In a prompt, `[reject]` rejects the submission, `[fail]` fails the job after it started, and `[slow]` makes it take a
 * minute.
 */
export async function startSampleUpstream(options: SampleUpstreamOptions = {}): Promise<SampleUpstream> {
  const pool = options.pool ?? (await startRenderPool(RENDER_THREADS));
  const files = openMediaFiles(options.dataDir);
  const jobs = createJobStore({
    delayMs: options.delayMs ?? 1500,
    pool,
    files,
    onEnd: (job) => {
      const callback = buildCallback(job, context);
      if (callback !== null && isLocalCallback(callback.url)) void sendCallback(callback);
    },
  });
  const server = createServer();
  const host = options.host ?? LOCAL_HOST;
  const port = await listenOnPort(server, options.port ?? 0, host);
  const url = options.publicUrl?.replace(/\/+$/, '') ?? `http://${host}:${port}`;
  const context: ProtocolContext = {
    base: url,
    jobs,
    // Any key is valid.
    acceptsKey: (key) => key !== undefined,
    rejects: ({ prompt }) => prompt.includes('[reject]'),
    readFile: (name) => readFile(join(files.folder, name)),
    callbackKeys: createCallbackKeys(),
    // The real models send no such field; these outputs are watermarked.
    outputFields: { watermarked: true },
  };
  server.on('request', (request, response) => {
    void readRequest(request)
      .then((parsed) => routeRequest(parsed, context).respond())
      .catch(toInternalError)
      .then((answer) => reply(request, response, answer));
  });

  function reply(request: IncomingMessage, response: ServerResponse, answer: ProtocolResponse): void {
    // An unread body would be parsed as the next request of this connection.
    if (!request.complete) response.setHeader('Connection', 'close');
    if ('file' in answer) return files.serve(answer.file, request, response);
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body));
  }

  async function stop(): Promise<void> {
    jobs.close();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    if (options.pool === undefined) await pool.close();
    files.close();
  }
  return { url, stop };
}

function listenOnPort(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address.port);
    });
  });
}

function toInternalError(error: unknown): ProtocolResponse {
  return { status: 500, body: { detail: error instanceof Error ? error.message : String(error) } };
}
