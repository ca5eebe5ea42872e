import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { getDecoderEnvironment } from './decoderEnvironment.ts';

export interface ThumbnailSource {
  kind: 'image' | 'video';
  filePath: string;
}

export interface ThumbnailOptions {
  /** The ffmpeg that decodes films. Default: the one on the PATH. */
  ffmpegPath?: string;
}

/** What the thumbnail process is sent, and what it answers: one for the other, in the same order. */
export interface ThumbnailRequest extends ThumbnailSource {
  ffmpegPath: string;
}
export interface ThumbnailResponse {
  /** The thumbnail, or why there is none. */
  result: Uint8Array | string;
  /** Whether the process begins on nothing more. */
  isLast: boolean;
}

interface ThumbnailTask {
  request: ThumbnailRequest;
  enqueuedAt: number;
  resolve(thumbnail: Uint8Array): void;
  reject(error: Error): void;
}

/** A child, and what it was sent and has not answered: it is at work on the first of these. */
interface ThumbnailWorker {
  child: ChildProcess;
  tasks: ThumbnailTask[];
  /** Until the first must be done, or while there is none, until the child is let go. */
  timer: NodeJS.Timeout | undefined;
}

const THUMBNAIL_TIMEOUT_MS = 20_000;
/** Who has waited longer for their turn goes without. */
const QUEUE_TIMEOUT_MS = 20_000;
const IDLE_TIMEOUT_MS = 30_000;
/** So many files are told to a child ahead, so that it need not wait for this process between two of them. */
const MAX_TASKS_SENT = 16;

const pendingTasks: ThumbnailTask[] = [];
let activeWorker: ThumbnailWorker | null = null;

/** Ends the child process, if there is one. */
export function stopThumbnailProcess(): void {
  if (activeWorker !== null) terminateWorker(activeWorker);
}

/**
 * Makes a WebP thumbnail, at most 512 px on its longer side, of an image file or of a frame that is really decoded
 * from the first second of a video file. Rejects with an Error when the file cannot be decoded (it may be a picture of
 * more than 50 megapixels, or in a format that no upstream sends) or takes longer than 20 s.
 *
 * The work is done in a child process, one file at a time. Inside the worker sharp alone took it from 45 to 130 MB,
 * and a fault of a decoder would end it. The child is kept for 30 s, so that a busy worker starts it once; where it
 * dies it is the file at work that goes without, and those behind it go to the next child.
 *
 * Films are decoded by ffmpeg, or where there is none by `@ffmpeg/core`, ffmpeg built for WebAssembly: one package
 * from npm that is the same on every platform and knows every format, where the native decoders on npm come in a
 * package for each platform, or download one at install. It is 62 MB installed, GPL like ffmpeg, and runs in the child
 * only. A film takes 0.1 to 0.2 s by ffmpeg and 0.4 to 0.9 s by WebAssembly; an image 0.03 to 0.1 s; a child's start
 * 0.1 s.
 */
export function makeThumbnail(input: ThumbnailSource, options: ThumbnailOptions = {}): Promise<Uint8Array> {
  const request = { ...input, ffmpegPath: options.ffmpegPath ?? 'ffmpeg' };
  return new Promise((resolve, reject) => {
    pendingTasks.push({ request, enqueuedAt: performance.now(), resolve, reject });
    sendPendingTasks();
  });
}

/** Sends on what waits, as far as the child may know ahead. */
function sendPendingTasks(): void {
  while (pendingTasks.length > 0 && (activeWorker === null || activeWorker.tasks.length < MAX_TASKS_SENT)) {
    const task = pendingTasks.shift() as ThumbnailTask;
    if (performance.now() - task.enqueuedAt > QUEUE_TIMEOUT_MS) {
      task.reject(new Error('too many thumbnails are being made'));
      continue;
    }
    activeWorker ??= startThumbnailWorker();
    activeWorker.tasks.push(task);
    if (activeWorker.tasks.length === 1) startNextTask(activeWorker);
    // What could not be sent the end of the child tells.
    activeWorker.child.send(task.request, () => {});
  }
}

/** The child goes on with its next order, or rests, without keeping this process alive. */
function startNextTask(worker: ThumbnailWorker): void {
  const { child, tasks } = worker;
  clearTimeout(worker.timer);
  if (tasks.length > 0) {
    child.ref();
    child.channel?.ref();
    worker.timer = setTimeout(
      () => terminateWorker(worker, new Error(`the thumbnail took longer than ${THUMBNAIL_TIMEOUT_MS} ms`)),
      THUMBNAIL_TIMEOUT_MS,
    );
  } else {
    child.unref();
    child.channel?.unref();
    worker.timer = setTimeout(() => terminateWorker(worker), IDLE_TIMEOUT_MS).unref();
  }
}

function startThumbnailWorker(): ThumbnailWorker {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`./thumbnailProcess.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const execArgv = isSource ? ['--import', createRequire(import.meta.url).resolve('tsx')] : [];
  const child = fork(fileURLToPath(script), [], {
    execArgv,
    env: getDecoderEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const worker: ThumbnailWorker = { child, tasks: [], timer: undefined };
  child.on('message', (reply: ThumbnailResponse) => {
    const task = worker.tasks.shift() as ThumbnailTask;
    if (typeof reply.result === 'string') task.reject(new Error(reply.result));
    else task.resolve(reply.result);
    if (reply.isLast) terminateWorker(worker);
    else startNextTask(worker);
    sendPendingTasks();
  });
  child.on('error', (error) => terminateWorker(worker, error));
  child.on('exit', (code, signal) =>
    terminateWorker(worker, new Error(`the thumbnail process ended (${signal ?? code})`)),
  );
  return worker;
}

/**
 * Lets go of a child, and has another one do what it has not begun.
 * @param error why the file that it is at work on goes without a thumbnail.
 */
function terminateWorker(worker: ThumbnailWorker, error?: Error): void {
  const { child, tasks } = worker;
  clearTimeout(worker.timer);
  child.removeAllListeners();
  // What fails or dies after its last answer concerns nobody any more.
  child.on('error', () => {});
  child.kill('SIGKILL');
  activeWorker = null;
  if (error !== undefined) tasks.shift()?.reject(error);
  pendingTasks.unshift(...tasks);
  sendPendingTasks();
}
