import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { decoderEnvironment } from './decoderEnvironment.ts';

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
export interface ThumbnailReply {
  /** The thumbnail, or why there is none. */
  result: Uint8Array | string;
  /** Whether the process begins on nothing more. */
  isLast: boolean;
}

interface Order {
  request: ThumbnailRequest;
  askedAt: number;
  resolve(thumbnail: Uint8Array): void;
  reject(error: Error): void;
}

/** A child, and what it was sent and has not answered: it is at work on the first of these. */
interface Painter {
  child: ChildProcess;
  orders: Order[];
  /** Until the first must be done, or while there is none, until the child is let go. */
  timer: NodeJS.Timeout | undefined;
}

const TIME_LIMIT_MS = 20_000;
/** Who has waited longer for their turn goes without. */
const WAIT_LIMIT_MS = 20_000;
const IDLE_MS = 30_000;
/** So many files are told to a child ahead, so that it need not wait for this process between two of them. */
const ORDERS_AHEAD = 16;

const waiting: Order[] = [];
let painter: Painter | null = null;

/** Ends the child process, if there is one. */
export function stopThumbnailProcess(): void {
  if (painter !== null) dismiss(painter);
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
    waiting.push({ request, askedAt: performance.now(), resolve, reject });
    giveOut();
  });
}

/** Sends on what waits, as far as the child may know ahead. */
function giveOut(): void {
  while (waiting.length > 0 && (painter === null || painter.orders.length < ORDERS_AHEAD)) {
    const order = waiting.shift() as Order;
    if (performance.now() - order.askedAt > WAIT_LIMIT_MS) {
      order.reject(new Error('too many thumbnails are being made'));
      continue;
    }
    painter ??= startPainter();
    painter.orders.push(order);
    if (painter.orders.length === 1) beginNext(painter);
    // What could not be sent the end of the child tells.
    painter.child.send(order.request, () => {});
  }
}

/** The child goes on with its next order, or rests, without keeping this process alive. */
function beginNext(at: Painter): void {
  const { child, orders } = at;
  clearTimeout(at.timer);
  if (orders.length > 0) {
    child.ref();
    child.channel?.ref();
    at.timer = setTimeout(
      () => dismiss(at, new Error(`the thumbnail took longer than ${TIME_LIMIT_MS} ms`)),
      TIME_LIMIT_MS,
    );
  } else {
    child.unref();
    child.channel?.unref();
    at.timer = setTimeout(() => dismiss(at), IDLE_MS).unref();
  }
}

function startPainter(): Painter {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`./thumbnailProcess.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const execArgv = isSource ? ['--import', createRequire(import.meta.url).resolve('tsx')] : [];
  const child = fork(fileURLToPath(script), [], {
    execArgv,
    env: decoderEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const started: Painter = { child, orders: [], timer: undefined };
  child.on('message', (reply: ThumbnailReply) => {
    const order = started.orders.shift() as Order;
    if (typeof reply.result === 'string') order.reject(new Error(reply.result));
    else order.resolve(reply.result);
    if (reply.isLast) dismiss(started);
    else beginNext(started);
    giveOut();
  });
  child.on('error', (error) => dismiss(started, error));
  child.on('exit', (code, signal) => dismiss(started, new Error(`the thumbnail process ended (${signal ?? code})`)));
  return started;
}

/**
 * Lets go of a child, and has another one do what it has not begun.
 * @param fault why the file that it is at work on goes without a thumbnail.
 */
function dismiss(from: Painter, fault?: Error): void {
  const { child, orders } = from;
  clearTimeout(from.timer);
  child.removeAllListeners();
  // What fails or dies after its last answer concerns nobody any more.
  child.on('error', () => {});
  child.kill('SIGKILL');
  painter = null;
  if (fault !== undefined) orders.shift()?.reject(fault);
  waiting.unshift(...orders);
  giveOut();
}
