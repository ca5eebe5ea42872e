import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { keepJobs } from './jobs.ts';
import { openMediaFiles } from './mediaFiles.ts';
import type { Answer } from './protocol.ts';
import { refusal } from './protocol.ts';
import { startRenderPool } from './renderPool.ts';
import { createRoutes } from './routes.ts';

export interface SampleUpstreamOptions {
  /** 0, the default, is any free port. */
  port?: number;
  /** Least time from submission to completion, in milliseconds. Default 1,500. */
  delayMs?: number;
  /** The one accepted key. Without it any key will do, but there has to be one. */
  falKey?: string;
  /** Where the rendered files are kept. Default: a temporary folder, removed at the end. */
  dataDir?: string;
}

export interface SampleUpstream {
  url: string;
  stop(): Promise<void>;
}

const RENDER_THREADS = 2;

/**
 * Starts the sample upstream: a server that speaks fal's queue protocol and renders, on this machine and at no cost,
 * a film or image of what was asked for, with the prompt and the word SAMPLE upon it. It listens on 127.0.0.1.
 *
 * In a prompt, `[reject]` has the submission refused, `[fail]` has the job fail after it started, and `[slow]` has it
 * take a minute.
 */
export async function startSampleUpstream(options: SampleUpstreamOptions = {}): Promise<SampleUpstream> {
  const pool = await startRenderPool(RENDER_THREADS);
  const files = openMediaFiles(options.dataDir);
  const jobs = keepJobs({ delayMs: options.delayMs ?? 1500, pool, files });
  const server = createServer();
  const url = `http://127.0.0.1:${await listen(server, options.port ?? 0)}`;
  const route = createRoutes({ base: url, falKey: options.falKey, jobs });
  server.on('request', (request, response) => {
    const file = /^\/files\/([^/?]+)$/.exec(request.url ?? '');
    if (file && (request.method === 'GET' || request.method === 'HEAD')) files.serve(file[1]!, request, response);
    else
      void route(request)
        .catch(brokenDown)
        .then((answer) => reply(request, response, answer));
  });

  async function stop(): Promise<void> {
    jobs.close();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await pool.close();
    files.close();
  }
  return { url, stop };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address.port);
    });
  });
}

function brokenDown(error: unknown): Answer {
  return refusal(500, error instanceof Error ? error.message : String(error));
}

function reply(request: IncomingMessage, response: ServerResponse, { status, body, headers }: Answer): void {
  // A body that nobody read would be taken for the next request of this connection.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
