import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { getDecoderEnvironment } from './decoderEnvironment.ts';
import { LocalFileError } from './download.ts';

/** An image in memory or in a file, or a video in a file. */
export type ThumbnailSource = { kind: 'image'; data: Uint8Array } | { kind: 'image' | 'video'; filePath: string };

export interface ThumbnailOptions {
  /** Path of the ffmpeg that decodes videos. Default: the one on the PATH. */
  ffmpegPath?: string;
}

/** A customer's image, which is written to a new file without its metadata. */
export interface ReencodeRequest {
  kind: 'reencode';
  filePath: string;
  outputPath: string;
}

/** An image that was written. */
export interface ReencodedImage {
  format: 'png' | 'jpeg' | 'webp';
  width: number;
  height: number;
  bytes: number;
}

/** Message to the thumbnail process. Responses come in the order of the requests. */
export type ThumbnailRequest = (ThumbnailSource & { ffmpegPath: string }) | ReencodeRequest;
export interface ThumbnailResponse {
  /** The thumbnail, the description of the image, or a failure. */
  result: Uint8Array | ReencodedImage | ThumbnailFailure;
  /** True if the process exits after this response. */
  isLast: boolean;
}

export interface ThumbnailFailure {
  error: string;
  /** True if this machine is at fault, such as its disk, and not the image. */
  isLocalFault: boolean;
}

interface ThumbnailTask {
  request: ThumbnailRequest;
  enqueuedAt: number;
  resolve(result: Uint8Array | ReencodedImage): void;
  reject(error: Error): void;
}

/** A file that cannot be decoded. Any other error may be temporary. */
export class DecodeError extends Error {}

/** A child process and its unfinished tasks. It works on the first one. */
interface ThumbnailWorker {
  child: ChildProcess;
  tasks: ThumbnailTask[];
  /** Deadline of the first task, or without tasks the time at which the idle child is stopped. */
  timer: NodeJS.Timeout | undefined;
}

const THUMBNAIL_TIMEOUT_MS = 20_000;
/** Maximum time in the queue, after which the thumbnail is skipped. */
const QUEUE_TIMEOUT_MS = 20_000;
const IDLE_TIMEOUT_MS = 30_000;
/** Number of tasks sent ahead, so that the child does not wait for this process between two of them. */
const MAX_TASKS_SENT = 16;

const pendingTasks: ThumbnailTask[] = [];
let activeWorker: ThumbnailWorker | null = null;
let compiledProgram: string | undefined;

/** Sets the compiled program of the child process for the open service. Default: the one beside this module. */
export function setThumbnailProgram(path: string | undefined): void {
  compiledProgram = path;
}

/** Stops the child process, if there is one. */
export function stopThumbnailProcess(): void {
  if (activeWorker !== null) terminateWorker(activeWorker);
}

/**
 * Makes a WebP thumbnail, at most 512 px on its longer side, of an image file or of a decoded frame from the first
 * second of a video file. Rejects with an Error if the file cannot be decoded (more than 50 megapixels, or a format that
 * no upstream sends) or takes longer than 20 s.
 *
 * A child process does the work, one file at a time: sharp would raise the worker's memory from 45 to 130 MB, and a
 * crash of a decoder would end the worker. The child stays for 30 s, so that a busy worker starts it once. If it dies,
 * only the current file gets no thumbnail; the other tasks go to the next child.
 *
 * Videos are decoded by ffmpeg if it is installed, otherwise by `@ffmpeg/core`, its WebAssembly build: one npm package
 * for every platform and format, whereas native decoders on npm need a package per platform or a download at install.
 * It takes 62 MB, is GPL like ffmpeg, and runs in the child only. A video takes 0.1 to 0.2 s with ffmpeg and 0.4 to
 * 0.9 s with WebAssembly, an image 0.03 to 0.1 s, and the start of a child 0.1 s.
 */
export function makeThumbnail(input: ThumbnailSource, options: ThumbnailOptions = {}): Promise<Uint8Array> {
  return runTask({ ffmpegPath: options.ffmpegPath ?? 'ffmpeg', ...input }) as Promise<Uint8Array>;
}

/**
 * Writes a PNG, JPEG or WebP image to a new file, upright and without EXIF, GPS position, color profile and further
 * frames. The same child process does the work, with the same limits as for thumbnails.
 * @throws DecodeError if the file is not such an image, is damaged, has more than 50 megapixels, or takes longer than
 *   20 s: it would take as long again with every use; LocalFileError if our disk is at fault, or any other error if a
 *   retry may help.
 */
export function reencodeImage(filePath: string, outputPath: string): Promise<ReencodedImage> {
  return runTask({ kind: 'reencode', filePath, outputPath }) as Promise<ReencodedImage>;
}

function runTask(request: ThumbnailRequest): Promise<Uint8Array | ReencodedImage> {
  return new Promise((resolve, reject) => {
    pendingTasks.push({ request, enqueuedAt: performance.now(), resolve, reject });
    sendPendingTasks();
  });
}

/** Sends waiting tasks to the child, up to its limit. */
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
    // If sending fails, the exit of the child rejects the task.
    activeWorker.child.send(task.request, () => {});
  }
}

/** Starts the deadline of the child's next task. An idle child does not keep this process alive. */
function startNextTask(worker: ThumbnailWorker): void {
  const { child, tasks } = worker;
  clearTimeout(worker.timer);
  if (tasks.length > 0) {
    child.ref();
    child.channel?.ref();
    worker.timer = setTimeout(
      () => terminateWorker(worker, new DecodeError(`the thumbnail took longer than ${THUMBNAIL_TIMEOUT_MS} ms`)),
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
  const program = compiledProgram ?? fileURLToPath(script);
  const execArgv = program.endsWith('.ts') ? ['--import', createRequire(import.meta.url).resolve('tsx')] : [];
  const child = fork(program, [], {
    execArgv,
    env: getDecoderEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const worker: ThumbnailWorker = { child, tasks: [], timer: undefined };
  child.on('message', (reply: ThumbnailResponse) => {
    const task = worker.tasks.shift() as ThumbnailTask;
    if ('error' in reply.result) task.reject(toError(reply.result));
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

function toError({ error, isLocalFault }: ThumbnailFailure): Error {
  return isLocalFault ? new LocalFileError(`The image could not be read or written: ${error}`) : new DecodeError(error);
}

/**
 * Stops a child and moves its remaining tasks to the next one.
 * @param error rejects the current task.
 */
function terminateWorker(worker: ThumbnailWorker, error?: Error): void {
  const { child, tasks } = worker;
  clearTimeout(worker.timer);
  child.removeAllListeners();
  // Errors after its last response are ignored.
  child.on('error', () => {});
  child.kill('SIGKILL');
  activeWorker = null;
  if (error !== undefined) tasks.shift()?.reject(error);
  pendingTasks.unshift(...tasks);
  sendPendingTasks();
}
