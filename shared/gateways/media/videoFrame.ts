import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FfmpegCore } from '@ffmpeg/core';
import { getDecoderEnvironment } from './decoderEnvironment.ts';

const FFMPEG_TIMEOUT_MS = 8000;
/** Position of the frame: past a fade-in, and still cheap to reach. */
const SEEK_SECONDS = 0.5;
const SCALE_FILTER = "scale=w='min(1024,iw)':h='min(1024,ih)':force_original_aspect_ratio=decrease";

/**
 * Decodes a frame from the first second of a video, with ffmpeg or otherwise with `@ffmpeg/core`, as a PNG. Throws an
 * Error if both fail.
 */
export async function readEarlyFrame(filePath: string, ffmpegPath: string): Promise<Uint8Array> {
  const failures: string[] = [];
  for (const decode of [() => decodeWithFfmpeg(filePath, ffmpegPath), () => decodeWithWasm(filePath)]) {
    try {
      return await decode();
    } catch (error) {
      failures.push(error instanceof Error ? error.message.trim() : String(error));
    }
  }
  throw new Error(`no frame could be decoded: ${failures.join('; ')}`);
}

async function decodeWithFfmpeg(filePath: string, ffmpegPath: string): Promise<Uint8Array> {
  // A very short video has no frame at that position, but it has a first one.
  for (const seconds of [SEEK_SECONDS, 0]) {
    const data = await runFfmpeg(ffmpegPath, filePath, seconds);
    if (data.length > 0) return data;
  }
  throw new Error('ffmpeg found no frame');
}

/**
 * MP4 and WebM only: a playlist or manifest demuxer would open other files that the video names. Limit of 40 megapixels
 * (8K has 33): a file of a few kilobytes can declare a frame that takes a gigabyte.
 */
const INPUT_LIMITS = ['-format_whitelist', 'mov,matroska', '-max_pixels', '40000000'];

function runFfmpeg(ffmpegPath: string, filePath: string, seconds: number): Promise<Uint8Array> {
  const source = ['-ss', String(seconds), '-i', `file:${filePath}`];
  const input = ['-threads', '1', '-protocol_whitelist', 'file', ...INPUT_LIMITS, ...source];
  const output = ['-map', '0:v:0', '-frames:v', '1', '-vf', SCALE_FILTER, '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'];
  const args = ['-v', 'error', '-nostdin', ...input, ...output];
  const limits = { timeout: FFMPEG_TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
  const env = getDecoderEnvironment();
  return new Promise((resolve, reject) => {
    execFile(ffmpegPath, args, { ...limits, env, encoding: 'buffer' }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      // The last line says what is wrong; the error's own message repeats the whole command.
      else reject(new Error(`ffmpeg: ${stderr.toString().trim().split('\n').at(-1) || (error.code ?? error.signal)}`));
    });
  });
}

/** Largest video that `@ffmpeg/core` decodes: it needs the file in memory twice. */
const WASM_INPUT_MAX_BYTES = 100 * 1024 ** 2;

async function decodeWithWasm(filePath: string): Promise<Uint8Array> {
  const { size } = await stat(filePath);
  if (size > WASM_INPUT_MAX_BYTES) throw new Error(`@ffmpeg/core: skipped, the file has ${size} bytes`);
  // Built for browsers: it reads the address of its page, and would fetch its binary from there.
  Object.assign(globalThis, { self: { location: { href: import.meta.url } } });
  const { resolve } = createRequire(import.meta.url);
  const binary = await readFile(resolve('@ffmpeg/core/wasm'));
  // Loaded only here: it is large.
  const { default: create } = await import('@ffmpeg/core');
  const core = await create({ wasmBinary: binary, locateFile: (name) => name });
  let lastLine = '';
  core.setLogger(({ message }) => (lastLine = message));
  core.FS.writeFile('film', await readFile(filePath));
  const output = ['-map', '0:v:0', '-frames:v', '1', '-vf', SCALE_FILTER, 'frame.png'];
  const args = ['-v', 'error', ...INPUT_LIMITS, '-i', 'film', ...output];
  for (const seconds of [SEEK_SECONDS, 0]) {
    if (core.exec('-ss', String(seconds), ...args) === 0) {
      const data = tryReadFile(core, 'frame.png');
      if (data !== null) return data;
    }
  }
  throw new Error(`@ffmpeg/core: ${lastLine || 'no frame'}`);
}

/** Returns null if the file does not exist: ffmpeg reports no error if there is no frame at the position. */
function tryReadFile(core: FfmpegCore, path: string): Uint8Array | null {
  try {
    return core.FS.readFile(path);
  } catch {
    return null;
  }
}
