import { open, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { readEarlyFrame } from '../../shared/gateways/media/videoFrame.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { useFolder } from '../harness/useFolder.ts';

/** Encodes a black frame as a video, which has some kilobytes whatever its size in pixels. */
async function encodeBlackFrame(width: number, height: number): Promise<Uint8Array> {
  Object.assign(globalThis, { self: { location: { href: import.meta.url } } });
  const wasmBinary = await readFile(createRequire(import.meta.url).resolve('@ffmpeg/core/wasm'));
  const { default: create } = await import('@ffmpeg/core');
  const core = await create({ wasmBinary, locateFile: (name) => name });
  const source = ['-f', 'lavfi', '-i', `color=black:s=${width}x${height}:r=1`];
  core.exec('-v', 'error', ...source, '-frames:v', '1', '-c:v', 'png', 'black.mp4');
  return core.FS.readFile('black.mp4');
}

describe('decoding a frame without ffmpeg', () => {
  const folder = useFolder();

  it('skips a video of more than 100 MiB without reading it into memory', async () => {
    const file = join(folder, 'long.mp4');
    const handle = await open(file, 'w');
    const bytes = 100 * 1024 ** 2 + 1;
    await handle.truncate(bytes);
    await handle.close();
    const before = process.memoryUsage().rss;
    await expectRejection(readEarlyFrame(file, '/nonexistent/ffmpeg'), /the file has 104857601 bytes/);
    expect(process.memoryUsage().rss - before).to.be.below(bytes / 2);
  });

  it('decodes no frame of more than 40 megapixels', async () => {
    const file = join(folder, 'black.mp4');
    await writeFile(file, await encodeBlackFrame(6_400, 6_300));
    await expectRejection(readEarlyFrame(file, '/nonexistent/ffmpeg'), /no frame could be decoded/);
  });
});
