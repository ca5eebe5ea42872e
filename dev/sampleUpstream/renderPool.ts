import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { StoredFile } from './mediaFiles.ts';
import type { RenderRequest } from './renderRequests.ts';

/** Messages to and from a render thread. */
export interface RenderTask {
  id: string;
  renderRequest: RenderRequest;
  folder: string;
}
export type RenderReply = { files: StoredFile[] } | { error: string };

export interface RenderPool {
  /** Renders into `folder`, with files named after `id`. Rejects if the rendering failed or was removed. */
  render(id: string, order: RenderRequest, folder: string, onStart: () => void): Promise<StoredFile[]>;
  /** Number of renderings ahead in the queue; 0 if it is not queued. */
  getPosition(id: string): number;
  /** Removes a rendering from the queue, if it is still there. */
  remove(id: string): void;
  close(): Promise<void>;
}

interface QueuedTask {
  task: RenderTask;
  onStart: () => void;
  resolve: (files: StoredFile[]) => void;
  reject: (error: Error) => void;
}

/** Node 20 loads no TypeScript entry in a thread, hence the little loader in JavaScript for the sources. */
const THREAD_ENTRY = import.meta.url.endsWith('.ts') ? './renderThread.mjs' : './renderWorker.js';

/** Starts a pool of at most `threads` render threads, created on demand, with one queue. */
export async function startRenderPool(threads: number): Promise<RenderPool> {
  const fonts = configureFonts();
  // If a thread loads sharp first, a second load fails: the main thread has to hold it.
  await import('sharp');
  const queue: QueuedTask[] = [];
  const idle: Worker[] = [];
  const alive = new Set<Worker>();
  let closed = false;

  function advance(): void {
    if (closed) return;
    while (queue.length > 0) {
      const worker = idle.pop() ?? (alive.size < threads ? begin() : undefined);
      if (!worker) return;
      assign(worker, queue.shift()!);
    }
  }

  function begin(): Worker {
    const worker = new Worker(new URL(THREAD_ENTRY, import.meta.url), { execArgv: [] });
    alive.add(worker);
    return worker;
  }

  function assign(worker: Worker, { task, onStart, resolve, reject }: QueuedTask): void {
    worker.removeAllListeners();
    worker.on('message', (reply: RenderReply) => {
      idle.push(worker);
      if ('files' in reply) resolve(reply.files);
      else reject(new Error(reply.error));
      advance();
    });
    const onEnd = (error: Error) => {
      alive.delete(worker);
      const at = idle.indexOf(worker);
      if (at >= 0) idle.splice(at, 1);
      reject(error);
      advance();
    };
    worker.on('error', onEnd);
    worker.on('exit', () => onEnd(new Error('the render thread exited')));
    onStart();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(task);
  }

  return {
    render: (id, order, folder, onStart) =>
      new Promise((resolve, reject) => {
        queue.push({ task: { id, renderRequest: order, folder }, onStart, resolve, reject });
        advance();
      }),
    getPosition: (id) =>
      Math.max(
        queue.findIndex((waiting) => waiting.task.id === id),
        0,
      ),
    remove: (id) => {
      const at = queue.findIndex((waiting) => waiting.task.id === id);
      if (at < 0) return;
      const [dropped] = queue.splice(at, 1);
      dropped!.reject(new Error('dropped'));
    },
    close: async () => {
      closed = true;
      for (const { reject } of queue.splice(0)) reject(new Error('the render pool closed'));
      await Promise.all([...alive].map((worker) => worker.terminate()));
      fonts.remove();
    },
  };
}

/**
 * Points fontconfig at the font in this project: a machine without fonts would draw boxes instead of text. It must
 * happen here: a thread's `process.env` is a copy, which native code does not read.
 */
function configureFonts(): { remove(): void } {
  if (process.env.FONTCONFIG_FILE) return { remove: () => {} };
  const fontFolder = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');
  const folder = mkdtempSync(join(tmpdir(), 'sample-fonts-'));
  const file = join(folder, 'fonts.conf');
  writeFileSync(
    file,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${fontFolder}</dir><cachedir>${join(folder, 'cache')}</cachedir></fontconfig>\n`,
  );
  process.env.FONTCONFIG_FILE = file;
  return { remove: () => rmSync(folder, { recursive: true, force: true }) };
}
