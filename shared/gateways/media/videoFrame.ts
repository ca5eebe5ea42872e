import { execFile } from 'node:child_process';
import type { EncodedVideoChunk, VideoFrame } from '@napi-rs/webcodecs';

/** A decoded frame: an encoded picture, or with `raw` the bare pixels. */
export interface VideoFramePicture {
  data: Uint8Array;
  raw?: { width: number; height: number; channels: 4 };
}

const FFMPEG_LIMIT_MS = 8000;
/** About half a second of a usual film: past a fade-in, and still cheap to reach. */
const EARLY_SECONDS = 0.5;
const EARLY_FRAMES = 12;
const MAX_PACKETS = 500;

/**
 * Decodes a frame from the first second of a film, by ffmpeg or else by `@napi-rs/webcodecs`. Throws an Error when
 * neither can.
 */
export async function readEarlyFrame(filePath: string, ffmpegPath: string): Promise<VideoFramePicture> {
  const failures: string[] = [];
  for (const decode of [() => decodeByFfmpeg(filePath, ffmpegPath), () => decodeByPackage(filePath)]) {
    try {
      return await decode();
    } catch (error) {
      failures.push(error instanceof Error ? error.message.trim() : String(error));
    }
  }
  throw new Error(`no frame could be decoded: ${failures.join('; ')}`);
}

async function decodeByFfmpeg(filePath: string, ffmpegPath: string): Promise<VideoFramePicture> {
  // A film shorter than the place looked for has no frame there, but has a first one.
  for (const seconds of [EARLY_SECONDS, 0]) {
    const data = await runFfmpeg(ffmpegPath, filePath, seconds);
    if (data.length > 0) return { data };
  }
  throw new Error('ffmpeg found no frame');
}

function runFfmpeg(ffmpegPath: string, filePath: string, seconds: number): Promise<Uint8Array> {
  const scale = "scale=w='min(1024,iw)':h='min(1024,ih)':force_original_aspect_ratio=decrease";
  const input = ['-threads', '1', '-protocol_whitelist', 'file', '-ss', String(seconds), '-i', `file:${filePath}`];
  const output = ['-map', '0:v:0', '-frames:v', '1', '-vf', scale, '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'];
  const args = ['-v', 'error', '-nostdin', ...input, ...output];
  const limits = { timeout: FFMPEG_LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
  return new Promise((resolve, reject) => {
    execFile(ffmpegPath, args, { ...limits, encoding: 'buffer' }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      // The last line says what is wrong; the error's own message repeats the whole command.
      else reject(new Error(`ffmpeg: ${stderr.toString().trim().split('\n').at(-1) || (error.code ?? error.signal)}`));
    });
  });
}

async function decodeByPackage(filePath: string): Promise<VideoFramePicture> {
  // Loaded only here: it is large, and optional.
  const { Mp4Demuxer, VideoDecoder } = await import('@napi-rs/webcodecs');
  let frame: VideoFrame | undefined;
  let failure: Error | undefined;
  const onError = (error: Error) => (failure ??= error);
  const decoder = new VideoDecoder({
    error: onError,
    output: (decoded) => {
      frame?.close();
      frame = decoded;
    },
  });
  const chunks: EncodedVideoChunk[] = [];
  const demuxer = new Mp4Demuxer({ error: onError, videoOutput: (chunk) => chunks.push(chunk) });
  try {
    await demuxer.load(filePath);
    const config = demuxer.videoDecoderConfig;
    if (!config) throw new Error('the file has no video track');
    decoder.configure({ ...config, hardwareAcceleration: 'prefer-software' });
    // Packets of sound are counted too, and may come first.
    for (let packets = 0; chunks.length < EARLY_FRAMES && packets < MAX_PACKETS; packets += EARLY_FRAMES) {
      await demuxer.demuxAsync(EARLY_FRAMES);
      if (failure) break;
    }
    for (const chunk of chunks.slice(0, EARLY_FRAMES)) decoder.decode(chunk);
    await decoder.flush();
    if (!frame) throw failure ?? new Error('the film has no frame');
    return await pixelsOf(frame);
  } finally {
    frame?.close();
    decoder.close();
    demuxer.close();
  }
}

async function pixelsOf(frame: VideoFrame): Promise<VideoFramePicture> {
  const { codedWidth: width, codedHeight: height } = frame;
  const data = new Uint8Array(frame.allocationSize({ format: 'RGBA' }));
  await frame.copyTo(data, { format: 'RGBA' });
  return { data, raw: { width, height, channels: 4 } };
}
