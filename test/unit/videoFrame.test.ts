import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readEarlyFrame } from '../../shared/gateways/media/videoFrame.ts';
import { expectRejection } from '../harness/expectRejection.ts';

describe('decoding a frame without ffmpeg', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genmeter-frame-'));
  });
  after(() => rm(folder, { recursive: true }));

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
});
