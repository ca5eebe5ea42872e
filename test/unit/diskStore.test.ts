import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { diskStore } from '../../shared/gateways/media/diskStore.ts';
import type { FinishedFile, MediaStore } from '../../shared/gateways/media/mediaStore.ts';
import { breakDisk } from '../harness/brokenDisk.ts';
import { captureError } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const FOLDER = 'ab/cdef';
const inMemory = (data: Buffer, name = 'image.png') => ({ data, name, contentType: 'image/png' });
const LARGE = Buffer.alloc(1024 * 1024, 'content');

describe('the store on disk', () => {
  let root: string;
  let store: MediaStore;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'genmeter-disk-'));
    setTestConfig({ MEDIA_DIR: root });
    store = diskStore(root);
  });
  afterEach(() => rm(root, { recursive: true }));

  const put = (...files: FinishedFile[]) => store.putFiles(FOLDER, files);
  const read = (name = 'image.png') => readFile(join(root, FOLDER, name));
  const listTempFiles = () => readdir(join(root, '.incoming')).catch(() => []);

  async function inFile(content: Buffer, name = 'image.png') {
    const localFile = join(root, 'local');
    await writeFile(localFile, content);
    return { localFile, name, contentType: 'image/png' };
  }

  it('stores files in memory and moves local ones, and leaves no others', async () => {
    await put(inMemory(LARGE, 'thumbnail.webp'), await inFile(Buffer.from('original')));
    expect((await read()).toString()).to.equal('original');
    expect(await read('thumbnail.webp')).to.deep.equal(LARGE);
    expect((await readdir(join(root, FOLDER))).sort()).to.deep.equal(['image.png', 'thumbnail.webp']);
    expect((await readdir(root)).filter((name) => name !== '.incoming')).to.deep.equal(['ab']);
    expect(await listTempFiles()).to.deep.equal([]);
  });

  it('stores a view of a larger buffer, and an empty one', async () => {
    await put(inMemory(LARGE.subarray(7, 14)), inMemory(Buffer.alloc(0), 'empty.png'));
    expect((await read()).toString()).to.equal('content');
    expect(await read('empty.png')).to.have.length(0);
  });

  it('replaces files that exist, complete or not', async () => {
    for (const old of [LARGE, LARGE.subarray(0, 100), Buffer.alloc(0)]) {
      for (const file of [inMemory(Buffer.from('new')), await inFile(Buffer.from('new'))]) {
        await mkdir(join(root, FOLDER), { recursive: true });
        await writeFile(join(root, FOLDER, 'image.png'), old);
        await put(file);
        expect((await read()).toString()).to.equal('new');
      }
    }
    expect(await listTempFiles()).to.deep.equal([]);
  });

  it('never shows a partial file once one of several concurrent attempts has stored it', async () => {
    const sizes: number[] = [];
    const attempts = Array.from({ length: 20 }, async () => {
      await put(inMemory(LARGE));
      for (let time = 0; time < 10; time += 1) sizes.push((await read()).length);
    });
    await Promise.all(attempts);
    expect(new Set(sizes)).to.deep.equal(new Set([LARGE.length]));
    expect(await readdir(join(root, FOLDER))).to.deep.equal(['image.png']);
    expect(await listTempFiles()).to.deep.equal([]);
  });

  it('keeps the local file, which may come only once, if a file in memory cannot be stored', async () => {
    await mkdir(join(root, FOLDER, 'thumbnail.webp'), { recursive: true });
    const original = await inFile(LARGE);
    const error = await captureError(put(inMemory(LARGE, 'thumbnail.webp'), original));
    expect((error as NodeJS.ErrnoException).code).to.equal('EISDIR');
    expect(await readFile(original.localFile)).to.deep.equal(LARGE);
    expect(await listTempFiles()).to.deep.equal([]);
  });

  it('fails if the folder cannot be created', async () => {
    await writeFile(join(root, 'ab'), 'a file');
    expect(((await captureError(put(inMemory(LARGE)))) as NodeJS.ErrnoException).code).to.be.oneOf([
      'ENOTDIR',
      'EEXIST',
    ]);
  });

  for (const code of ['ENOSPC', 'EROFS', 'EIO'] as const) {
    it(`fails with ${code}, leaves no file, and stores the file in the next attempt`, async () => {
      const repair = breakDisk(code);
      try {
        const error = await captureError(put(inMemory(LARGE)));
        expect((error as NodeJS.ErrnoException).code).to.equal(code);
      } finally {
        repair();
      }
      expect([...(await readdir(join(root, FOLDER))), ...(await listTempFiles())]).to.deep.equal([]);
      await put(inMemory(LARGE));
      expect(await read()).to.deep.equal(LARGE);
    });
  }
});
