import { type ChildProcess, fork, type ForkOptions } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createLruCache } from '../../lib/lruCache.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
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
  format: 'png' | 'jpeg';
  width: number;
  height: number;
  bytes: number;
}

/** Message to the thumbnail process, which handles one at a time. */
export type ThumbnailRequest = (ThumbnailSource & { ffmpegPath: string }) | ReencodeRequest;
export interface ThumbnailResponse {
  /** The thumbnail, the description of the image, or a failure. */
  result: Uint8Array | ReencodedImage | ThumbnailFailure;
  /** Time that the task took. The start of the process does not count: another account's task may have caused it. */
  ms: number;
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
  /** The account whose file it is, or 0. */
  owner: number;
  enqueuedAt: number;
  /** Number of times that it was stopped for another account. */
  interruptions: number;
  resolve(result: Uint8Array | ReencodedImage): void;
  reject(error: Error): void;
}

/** A file that cannot be decoded. Any other error may be temporary. */
export class DecodeError extends Error {}

/** A child process and its task, or null while it is idle. */
interface ThumbnailWorker {
  child: ChildProcess;
  task: ThumbnailTask | null;
  startedAt: number;
  /** Deadline of the task, or without one the time at which the idle child is stopped. */
  timer: NodeJS.Timeout | undefined;
}

const THUMBNAIL_TIMEOUT_MS = 20_000;
/** Maximum time in the queue, after which the thumbnail is skipped. */
const QUEUE_TIMEOUT_MS = 20_000;
const IDLE_TIMEOUT_MS = 30_000;
/** Time after which a task is stopped and repeated later, if the task of an account that has used less time waits. */
const TIME_SLICE_MS = 500;
/** A task that is stopped this often fails. */
const INTERRUPTIONS_MAX = 3;
/** Tasks of one child process at a time. */
interface ThumbnailQueue {
  /** Limit of the child's data, including its decoders. */
  memoryLimitKb?: number;
  pending: ThumbnailTask[];
  worker: ThumbnailWorker | null;
}

/** Outputs of upstreams, in a worker process. `@ffmpeg/core` needs more memory than customers' images. */
const outputs: ThumbnailQueue = { pending: [], worker: null };
/**
 * Customers' images, in an API process. The largest accepted one takes 160 MB for the picture, about 250 MB with the
 * process, and some 400 MB of address space.
 */
const customerImages: ThumbnailQueue = { memoryLimitKb: 420_000, pending: [], worker: null };
/** Milliseconds that the tasks of an account have taken, until there was none for a minute. */
const usedMs = createLruCache<number, number>(10_000, MINUTE_MS);
let compiledProgram: string | undefined;

/** Sets the compiled program of the child process for the open service. Default: the one beside this module. */
export function setThumbnailProgram(path: string | undefined): void {
  compiledProgram = path;
}

/** Stops the child processes, if there are any. */
export function stopThumbnailProcess(): void {
  for (const queue of [outputs, customerImages]) if (queue.worker !== null) terminateWorker(queue, queue.worker);
}

/**
 * Makes a WebP thumbnail, at most 512 px on its longer side, of an image file or of a decoded frame from the first
 * second of a video file. Rejects with an Error if the file cannot be decoded (more than 50 megapixels, more memory
 * than the limit, or a format that no upstream sends) or takes longer than 20 s.
 *
 * A child process does the work, one file at a time, since a crash of a decoder would end the worker. If it dies, only
 * the current file gets no thumbnail.
 */
export function makeThumbnail(input: ThumbnailSource, options: ThumbnailOptions = {}): Promise<Uint8Array> {
  return runTask(outputs, { ffmpegPath: options.ffmpegPath ?? 'ffmpeg', ...input }, 0) as Promise<Uint8Array>;
}

/**
 * Writes a PNG, JPEG or WebP image of an account to a new file as PNG or JPEG, upright and without EXIF, GPS position,
 * color profile and further frames. A child process does the work, as for thumbnails. The account whose images have
 * taken the least time is served first, and does not wait for an image that takes longer than a time slice, unless its
 * own image was stopped before.
 * @throws DecodeError if the file is not such an image, is damaged, has more than 50 megapixels, exceeds the memory
 *   limit, or takes longer than 20 s: it would take as long again with every use; LocalFileError if our disk is at
 *   fault, or any other error if a retry may help.
 */
export function reencodeImage(filePath: string, outputPath: string, accountId: number): Promise<ReencodedImage> {
  return runTask(customerImages, { kind: 'reencode', filePath, outputPath }, accountId) as Promise<ReencodedImage>;
}

function runTask(
  queue: ThumbnailQueue,
  request: ThumbnailRequest,
  owner: number,
): Promise<Uint8Array | ReencodedImage> {
  return new Promise((resolve, reject) => {
    queue.pending.push({ request, owner, enqueuedAt: performance.now(), interruptions: 0, resolve, reject });
    startNextTask(queue);
    interruptLongTask(queue);
  });
}

/** Gives the next task to the child, if it is idle. An idle child does not keep this process alive. */
function startNextTask(queue: ThumbnailQueue): void {
  if (queue.worker !== null && queue.worker.task !== null) return;
  const task = takeNextTask(queue);
  if (task === undefined && queue.worker === null) return;
  const worker = (queue.worker ??= startThumbnailWorker(queue));
  const { child } = worker;
  clearTimeout(worker.timer);
  if (task === undefined) {
    child.unref();
    child.channel?.unref();
    worker.timer = setTimeout(() => terminateWorker(queue, worker), IDLE_TIMEOUT_MS).unref();
    return;
  }
  child.ref();
  child.channel?.ref();
  const error = new DecodeError(`the thumbnail took longer than ${THUMBNAIL_TIMEOUT_MS} ms`);
  worker.timer = setTimeout(() => terminateWorker(queue, worker, error), THUMBNAIL_TIMEOUT_MS);
  worker.task = task;
  worker.startedAt = performance.now();
  // Timers may fire a millisecond early.
  setTimeout(() => interruptLongTask(queue), TIME_SLICE_MS + 1).unref();
  // If sending fails, the exit of the child rejects the task.
  child.send(task.request, () => {});
}

/** Removes the first waiting task of the account that has used the least time. */
function takeNextTask(queue: ThumbnailQueue): ThumbnailTask | undefined {
  rejectOldTasks(queue);
  const next = findNextTask(queue.pending);
  if (next !== undefined) queue.pending.splice(queue.pending.indexOf(next), 1);
  return next;
}

/** Rejects tasks that have waited too long. Stopped tasks wait first, so that the order is not that of their ages. */
function rejectOldTasks(queue: ThumbnailQueue): void {
  const oldest = performance.now() - QUEUE_TIMEOUT_MS;
  const old = queue.pending.filter(({ enqueuedAt }) => enqueuedAt < oldest);
  queue.pending = queue.pending.filter(({ enqueuedAt }) => enqueuedAt >= oldest);
  for (const task of old) task.reject(new Error('too many thumbnails are being made'));
}

function findNextTask(pending: ThumbnailTask[]): ThumbnailTask | undefined {
  const used = pending.map(({ owner }) => getUsedMs(owner));
  return pending[used.indexOf(Math.min(...used))];
}

const getUsedMs = (owner: number) => usedMs.get(owner) ?? 0;

/**
 * Stops a task that has taken longer than a time slice if that of another account comes next. Stopped tasks do not stop
 * others: two that take long would keep each other from ending.
 */
function interruptLongTask(queue: ThumbnailQueue): void {
  rejectOldTasks(queue);
  const { worker } = queue;
  const task = worker?.task ?? null;
  if (worker === null || task === null) return;
  const elapsed = performance.now() - worker.startedAt;
  const others = queue.pending.filter(({ owner, interruptions }) => owner !== task.owner && interruptions === 0);
  const next = findNextTask(others);
  if (elapsed < TIME_SLICE_MS || next === undefined || getUsedMs(next.owner) >= getUsedMs(task.owner) + elapsed) return;
  task.interruptions += 1;
  const isLast = task.interruptions >= INTERRUPTIONS_MAX;
  terminateWorker(queue, worker, isLast ? new Error('the image took too long while others waited') : undefined);
}

function startThumbnailWorker(queue: ThumbnailQueue): ThumbnailWorker {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`./thumbnailProcess.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const program = compiledProgram ?? fileURLToPath(script);
  const flags = program.endsWith('.ts') ? ['--import', createRequire(import.meta.url).resolve('tsx')] : [];
  const child = fork(program, [], {
    ...limitMemory(flags, queue.memoryLimitKb),
    env: getDecoderEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const worker: ThumbnailWorker = { child, task: null, startedAt: 0, timer: undefined };
  child.on('message', ({ result, ms, isLast }: ThumbnailResponse) => {
    const task = endTask(worker, ms);
    if ('error' in result) task?.reject(toError(result));
    else task?.resolve(result);
    if (isLast) terminateWorker(queue, worker);
    else startNextTask(queue);
  });
  child.on('error', (error) => terminateWorker(queue, worker, error));
  child.on('exit', (code, signal) =>
    terminateWorker(queue, worker, new Error(`the thumbnail process ended (${signal ?? code})`)),
  );
  return worker;
}

/** Address space that Node reserves without using it, 0.5 GB of it at its start, and that counts as memory. */
const RESERVED_KB = Number.parseInt(process.versions.node, 10) >= 24 ? 1_100_000 : 0;

/**
 * Starts Node by a shell that limits its memory: beyond it, decoders fail. If a container runs out of memory, Linux
 * ends this process first. Windows has no such shell.
 */
function limitMemory(flags: string[], limitKb: number | undefined): ForkOptions {
  if (limitKb === undefined || process.platform === 'win32') return { execArgv: flags };
  // With flags, the child compiles its sources.
  const compilerKb = flags.length > 0 ? 60_000 : 0;
  const limits = `ulimit -d ${limitKb + compilerKb + RESERVED_KB}; echo 1000 >/proc/self/oom_score_adj`;
  const command = `{ ${limits}; } 2>/dev/null; exec "$0" "$@"`;
  return { execPath: '/bin/sh', execArgv: ['-c', command, process.execPath, ...flags] };
}

function endTask(worker: ThumbnailWorker, ms = performance.now() - worker.startedAt): ThumbnailTask | null {
  const { task } = worker;
  worker.task = null;
  if (task !== null) usedMs.set(task.owner, getUsedMs(task.owner) + ms);
  return task;
}

function toError({ error, isLocalFault }: ThumbnailFailure): Error {
  return isLocalFault ? new LocalFileError(`The image could not be read or written: ${error}`) : new DecodeError(error);
}

/**
 * Stops a child.
 * @param error rejects its task; without one, the next child repeats it.
 */
function terminateWorker(queue: ThumbnailQueue, worker: ThumbnailWorker, error?: Error): void {
  const { child } = worker;
  clearTimeout(worker.timer);
  child.removeAllListeners();
  // Errors after its last response are ignored.
  child.on('error', () => {});
  child.kill('SIGKILL');
  queue.worker = null;
  const task = endTask(worker);
  if (error !== undefined) task?.reject(error);
  else if (task !== null) queue.pending.unshift(task);
  startNextTask(queue);
}
