import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mock } from 'node:test';
import { promisify } from 'node:util';
import { expect } from 'chai';
import sharp from 'sharp';
import { LocalFileError } from '../../shared/gateways/media/download.ts';
import {
  DecodeError,
  makeThumbnail,
  reencodeImage,
  setThumbnailProgram,
  stopThumbnailProcess,
} from '../../shared/gateways/media/thumbnail.ts';
import { captureError, expectRejection } from '../harness/expectRejection.ts';
import { eventually } from '../harness/testService.ts';
import { MP4 } from '../fakes/misbehave.ts';
import { useFolder } from '../harness/useFolder.ts';

const run = promisify(execFile);

/** Lists the thumbnail processes of this process. */
async function listThumbnailProcesses(): Promise<number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)]);
  const lines = stdout.split('\n').filter((line) => line.includes('thumbnailProcess'));
  return lines.map((line) => Number.parseInt(line, 10));
}

const getHeight = async (thumbnail: Uint8Array) => (await sharp(thumbnail).metadata()).height;
const makeImageThumbnail = (filePath: string) => makeThumbnail({ kind: 'image', filePath });

describe('thumbnails', () => {
  const folder = useFolder();
  let broken: string;
  let film: string;
  before(async () => {
    broken = join(folder, 'broken.png');
    await writeFile(broken, 'no picture');
    film = join(folder, 'film.mp4');
    await writeFile(film, MP4);
  });

  /** Images of different heights, which identify the source of a thumbnail. */
  async function pictures(count: number): Promise<{ filePath: string; height: number }[]> {
    return Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const height = 100 + index;
        const filePath = join(folder, `${height}.png`);
        const create = { width: 1_024, height: 2 * height, channels: 3, background: 'teal' } as const;
        await sharp({ create }).png().toFile(filePath);
        return { filePath, height };
      }),
    );
  }

  /** A script that replaces ffmpeg. */
  async function program(name: string, script: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  it('are returned to their callers by one process, however many are requested at a time', async () => {
    const files = await pictures(40);
    const work = files.map(({ filePath }) => makeImageThumbnail(filePath));
    const started = await listThumbnailProcesses();
    expect(await Promise.all(work.map(async (thumbnail) => getHeight(await thumbnail)))).to.deep.equal(
      files.map(({ height }) => height),
    );
    expect(started).to.have.length(1);
    expect(await listThumbnailProcesses()).to.deep.equal(started);
  });

  for (const format of ['png', 'jpeg', 'webp'] as const) {
    it(`of an image in memory are those of the same image in a file (${format})`, async () => {
      const filePath = join(folder, `memory.${format}`);
      const create = { width: 1_024, height: 512, channels: 3, background: 'teal' } as const;
      await sharp({ create }).withMetadata({ orientation: 6 }).toFormat(format).toFile(filePath);
      const data = await readFile(filePath);
      const [fromData, fromFile] = await Promise.all([
        makeThumbnail({ kind: 'image', data }),
        makeThumbnail({ kind: 'image', filePath }),
      ]);
      expect(Buffer.from(fromData)).to.deep.equal(Buffer.from(fromFile));
      expect(await getHeight(fromData)).to.equal(512);
    });
  }

  it('that cannot be made do not affect those before and after them', async () => {
    const [first, last] = await pictures(2);
    const [before, failure, after] = [
      makeImageThumbnail(first!.filePath),
      makeImageThumbnail(broken),
      makeImageThumbnail(last!.filePath),
    ];
    await expectRejection(failure, /unsupported image format/);
    expect(await getHeight(await before)).to.equal(first!.height);
    expect(await getHeight(await after)).to.equal(last!.height);
  });

  it('are made by processes without any secret of the service in their environment', async () => {
    process.env['STRIPE_SECRET_KEY'] = 'sk_test_of_the_thumbnails';
    try {
      // A running child has the environment of another test.
      stopThumbnailProcess();
      await eventually('the old child is gone', async () => (await listThumbnailProcesses()).length === 0);
      const seen = join(folder, 'seen');
      const ffmpegPath = await program('spy', `env > ${seen}; echo "$@" >> ${seen}; exit 1`);
      await makeThumbnail({ kind: 'video', filePath: film }, { ffmpegPath }).catch(() => {});
      const environment = await readFile(seen, 'utf8');
      expect(environment).to.include('PATH=').and.not.include('sk_test_of_the_thumbnails');
      expect(environment).to.include('-format_whitelist mov,matroska');
      const [child] = await listThumbnailProcesses();
      if (process.platform === 'linux') {
        const own = await readFile(`/proc/${child}/environ`, 'latin1');
        expect(own).to.include('PATH=').and.not.include('sk_test_of_the_thumbnails');
        expect(own).to.not.match(/DATABASE_URL|REDIS_URL|_KEY=|_TOKEN=|SECRET/);
      }
    } finally {
      delete process.env['STRIPE_SECRET_KEY'];
    }
  });

  it('are not made of a HEIF image or a playlist, which no upstream may send', async () => {
    const heif = join(folder, 'picture.heic');
    await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
      .heif({ compression: 'av1' })
      .toFile(heif);
    await expectRejection(makeImageThumbnail(heif), /unsupported image format|blocked/i);
    const playlist = join(folder, 'playlist.mp4');
    await writeFile(playlist, `ffconcat version 1.0\nfile ${film}\n`);
    await expectRejection(makeThumbnail({ kind: 'video', filePath: playlist }), /no frame could be decoded/);
  });

  it('are not made of images over 50 megapixels', async () => {
    const filePath = join(folder, 'huge.png');
    const create = { width: 10_000, height: 5_001, channels: 3, background: 'teal' } as const;
    await sharp({ create, limitInputPixels: false }).png().toFile(filePath);
    await expectRejection(makeImageThumbnail(filePath), /pixel limit/);
  });

  for (const format of ['svg', 'gif', 'tiff'] as const) {
    it(`are not made of ${format}, which no upstream sends`, async () => {
      const filePath = join(folder, `picture.${format}`);
      const svg = Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
      );
      const data = format === 'svg' ? svg : await sharp(svg).toFormat(format).toBuffer();
      await writeFile(filePath, data);
      await expectRejection(makeImageThumbnail(filePath), /./);
      await expectRejection(makeThumbnail({ kind: 'image', data }), /unsupported image format/);
    });
  }

  it('are not made of a file that crashes the process, and those after it are made by another process', async () => {
    const [first, ...rest] = await pictures(20);
    const contents = await Promise.all(rest.map(({ filePath }) => readFile(filePath)));
    const ffmpegPath = await program('deadly', 'kill -9 $PPID');
    const before = makeImageThumbnail(first!.filePath);
    const failure = expectRejection(
      makeThumbnail({ kind: 'video', filePath: film }, { ffmpegPath }),
      /ended \(SIGKILL\)/,
    );
    const [old] = await listThumbnailProcesses();
    const behind = rest.map(({ filePath }, index) =>
      index % 2 === 0 ? makeImageThumbnail(filePath) : makeThumbnail({ kind: 'image', data: contents[index]! }),
    );
    expect(await getHeight(await before)).to.equal(first!.height);
    await failure;
    expect(await Promise.all(behind.map(async (thumbnail) => getHeight(await thumbnail)))).to.deep.equal(
      rest.map(({ height }) => height),
    );
    const now = await listThumbnailProcesses();
    expect(now).to.have.length(1);
    expect(now).to.not.include(old);
  });

  it('are made again after the process was killed, even several times', async () => {
    const [{ filePath, height }] = (await pictures(1)) as [{ filePath: string; height: number }];
    for (let time = 0; time < 3; time += 1) {
      expect(await getHeight(await makeImageThumbnail(filePath))).to.equal(height);
      const [pid] = await listThumbnailProcesses();
      process.kill(pid!, 'SIGKILL');
      // This one may be lost, if the exit was not detected yet; the next one is not.
      await makeImageThumbnail(filePath).catch(() => {});
    }
    expect(await getHeight(await makeImageThumbnail(filePath))).to.equal(height);
  });

  it('of uploads are made for the account first whose images have taken the least time', async () => {
    const large = join(folder, 'large.jpg');
    const create = { width: 2_000, height: 2_000, channels: 3, background: 'teal' } as const;
    await sharp({ create }).jpeg().toFile(large);
    const [{ filePath: small }] = (await pictures(1)) as [{ filePath: string; height: number }];
    const order: string[] = [];
    const send = (file: string, accountId: number, name: string) =>
      reencodeImage(file, join(folder, `copy-${name}`), accountId).then(() => order.push(name));
    // The start of the process could take a time slice.
    await reencodeImage(small, join(folder, 'copy'), 70);
    const work = ['first', 'second', 'third'].map((name) => send(large, 71, name));
    work.push(send(small, 72, 'other'), send(small, 72, 'other again'));
    await Promise.all(work);
    expect(order).to.deep.equal(['first', 'other', 'other again', 'second', 'third']);
  });

  const decode = (file: string, accountId: number) => reencodeImage(file, join(folder, String(accountId)), accountId);

  describe('of a decoder for which an image takes 1.5 seconds', () => {
    const [long, small] = ['long', 'small'];
    before(async () => {
      stopThumbnailProcess();
      const path = join(folder, 'decoder.cjs');
      await writeFile(
        path,
        `process.on('disconnect', () => process.exit(0));
         process.on('message', ({ filePath }) => {
           const ms = filePath === 'long' ? 1500 : 1;
           const result = { format: 'jpeg', width: 1, height: 1, bytes: 1 };
           setTimeout(() => process.send({ result, ms, isLast: false }), ms);
         });`,
      );
      setThumbnailProgram(path);
    });
    after(() => {
      stopThumbnailProcess();
      setThumbnailProgram(undefined);
    });

    it('of uploads do not wait for an image that takes long, which is made later, or fails if more follow', async () => {
      const order: string[] = [];
      const send = (file: string, accountId: number, name: string) =>
        decode(file, accountId).then(() => order.push(name));
      await Promise.all([send(long, 81, 'long'), send(long, 81, 'long too'), send(small, 82, 'small')]);
      expect(order).to.deep.equal(['small', 'long', 'long too']);
      await Promise.all([91, 92, 93].map((accountId) => send(long, accountId, `long of ${accountId}`)));
      expect(order.slice(3)).to.have.members(['long of 91', 'long of 92', 'long of 93']);
      const failures: Error[] = [];
      void captureError(send(long, 83, 'long again')).then((error) => failures.push(error));
      for (let accountId = 84; failures.length === 0; accountId += 1) await send(small, accountId, 'small');
      expect(failures[0]?.message).to.include('took too long while others waited');
      expect(failures[0]).to.not.be.instanceOf(DecodeError);
    });

    it('of uploads are not made after 20 seconds in the queue, also behind a newer one that was stopped', async () => {
      await decode(small, 102);
      const readClock = performance.now.bind(performance);
      let passedMs = 0;
      const clock = mock.method(performance, 'now', () => readClock() + passedMs);
      try {
        // The first is stopped for the third, and that one for the fourth, so that it waits before the first two.
        const old = [captureError(decode(long, 101)), captureError(decode(small, 102))];
        passedMs = 15_000;
        const newer = [decode(long, 103)];
        passedMs = 17_000;
        newer.push(decode(long, 104));
        passedMs = 25_000;
        for (const error of await Promise.all(old))
          expect(error.message).to.equal('too many thumbnails are being made');
        for (const image of await Promise.all(newer)) expect(image).to.include({ format: 'jpeg' });
      } finally {
        clock.mock.restore();
      }
    });
  });

  it('of uploads are not taken for damaged while the disk is full', async () => {
    const [{ filePath }] = (await pictures(1)) as [{ filePath: string; height: number }];
    const copy = join(folder, 'copy');
    expect(await reencodeImage(filePath, copy, 1)).to.include({ format: 'png' });
    expect(await captureError(reencodeImage(broken, copy, 1))).to.be.instanceOf(DecodeError);
    const faults = [
      [filePath, join(folder, 'missing', 'copy')],
      [join(folder, 'missing.png'), copy],
      // Every write to this device fails like one to a full disk.
      ...(process.platform === 'linux' ? [[filePath, '/dev/full']] : []),
    ] as [string, string][];
    for (const [image, outputPath] of faults) {
      const error = await expectRejection(reencodeImage(image, outputPath, 1), /could not be read or written/);
      expect(error).to.be.instanceOf(LocalFileError).and.to.not.be.instanceOf(DecodeError);
    }
  });
});
