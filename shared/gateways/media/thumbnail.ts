import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface ThumbnailSource {
  kind: 'image' | 'video';
  filePath: string;
}

export interface ThumbnailOptions {
  /** The ffmpeg that decodes films. Default: the one on the PATH. */
  ffmpegPath?: string;
}

/** What the thumbnail process is sent, and what it answers. */
export interface ThumbnailRequest extends ThumbnailSource {
  outputPath: string;
  ffmpegPath: string;
}
export interface ThumbnailReply {
  error: string | null;
  /** The memory that the process holds by now. */
  residentBytes: number;
}

const TIME_LIMIT_MS = 20_000;
/** Who has waited longer for their turn goes without. */
const WAIT_LIMIT_MS = 20_000;
const IDLE_MS = 30_000;
/** The decoder's memory is out of the garbage collector's sight: a process that has grown to this is not kept. */
const MAX_RESIDENT_BYTES = 256 * 1024 ** 2;

let previous: Promise<unknown> = Promise.resolve();
let resting: { child: ChildProcess; timer: NodeJS.Timeout } | null = null;

/**
 * Writes a WebP thumbnail, at most 512 px on its longer side, of an image file or of a frame that is really decoded
 * from the first second of a video file. Throws an Error, and writes nothing, when the file cannot be decoded (it may
 * be a picture of more than 50 megapixels, or in a format that no upstream sends) or takes longer than 20 s.
 *
 * The work is done in a child process, one file at a time. Inside the worker sharp alone took it from 45 to 130 MB,
 * and a fault of a decoder would end it. The child is kept for 30 s, so that a busy worker starts it once.
 *
 * Films are decoded by ffmpeg, or where there is none by `@ffmpeg/core`, ffmpeg built for WebAssembly: one package
 * from npm that is the same on every platform and knows every format, where the native decoders on npm come in a
 * package for each platform, or download one at install. It is 62 MB installed, GPL like ffmpeg, and runs in the child
 * only. A film takes 0.1 to 0.2 s by ffmpeg and 0.4 to 0.9 s by WebAssembly; an image 0.03 to 0.1 s; a child's start
 * 0.1 s.
 */
export function makeThumbnail(
  input: ThumbnailSource,
  outputPath: string,
  options: ThumbnailOptions = {},
): Promise<void> {
  const { kind, filePath } = input;
  const request = { kind, filePath, outputPath, ffmpegPath: options.ffmpegPath ?? 'ffmpeg' };
  const askedAt = performance.now();
  const result = previous.then(() => {
    if (performance.now() - askedAt > WAIT_LIMIT_MS) throw new Error('too many thumbnails are being made');
    return runInChild(request);
  });
  previous = result.catch(() => {});
  return result;
}

function runInChild(request: ThumbnailRequest): Promise<void> {
  const child = takeChild();
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      clearTimeout(timer);
      child.removeAllListeners();
      // What fails or dies after its answer concerns nobody any more.
      child.on('error', () => {});
      if (error) reject(error);
      else resolve();
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      settle(new Error(`the thumbnail took longer than ${TIME_LIMIT_MS} ms`));
    }, TIME_LIMIT_MS);
    child.on('message', (reply: ThumbnailReply) => {
      settle(reply.error === null ? undefined : new Error(reply.error));
      if (reply.residentBytes < MAX_RESIDENT_BYTES) rest(child);
      else child.disconnect();
    });
    child.on('error', settle);
    child.on('exit', (code, signal) => settle(new Error(`the thumbnail process ended (${signal ?? code})`)));
    child.send(request, (error) => error && settle(error));
  });
}

function takeChild(): ChildProcess {
  const rested = resting;
  resting = null;
  if (rested) {
    clearTimeout(rested.timer);
    if (rested.child.connected) {
      rested.child.ref();
      rested.child.channel?.ref();
      return rested.child;
    }
  }
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`./thumbnailProcess.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const execArgv = isSource ? ['--import', import.meta.resolve('tsx')] : [];
  return fork(fileURLToPath(script), [], { execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
}

/** Keeps a child for the next thumbnail, without keeping this process alive for it. */
function rest(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  const timer = setTimeout(() => {
    resting = null;
    if (child.connected) child.disconnect();
  }, IDLE_MS);
  resting = { child, timer: timer.unref() };
}
