import { readdir, readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type DownloadLimits,
  downloadContent,
  InvalidOutputError,
  LocalFileError,
} from '../../shared/gateways/media/download.ts';
import { closeServiceScope } from '../../shared/lib/serviceScope.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { captureError } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { eventually } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

const MEMORY_MAX_BYTES = 100_000;
const makeContent = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index % 251));

const announced =
  (content: Buffer): RequestListener =>
  (_request, response) =>
    void response.end(content);
const unannounced =
  (content: Buffer): RequestListener =>
  (_request, response) => {
    response.write(content.subarray(0, 10));
    response.end(content.subarray(10));
  };

describe('the download of an output of unknown size', () => {
  const folder = useFolder({ isCleared: true });
  beforeEach(() => setTestConfig());
  afterEach(async () => {
    await closeServiceScope();
    closeFileServers();
  });

  const newFile = async () => join(folder, 'incoming');
  const fetchUrl = (url: string, limits: Partial<DownloadLimits> = {}, file = newFile) =>
    downloadContent({ url }, { upstreamHost: '', allowsPrivateAddresses: true }, MEMORY_MAX_BYTES, file, limits);

  /** Fails unless the content is in memory, or in a file, and complete. */
  async function expectContent(url: string, content: Buffer, place: 'memory' | 'file'): Promise<void> {
    const found = await fetchUrl(url);
    expect('data' in found ? 'memory' : 'file').to.equal(place);
    expect('data' in found ? found.data : await readFile(found.localFile)).to.deep.equal(content);
    if (place === 'memory') expect(await readdir(folder)).to.deep.equal([]);
  }

  for (const [length, place] of [
    [0, 'memory'],
    [MEMORY_MAX_BYTES, 'memory'],
    [MEMORY_MAX_BYTES + 1, 'file'],
    [10 * MEMORY_MAX_BYTES, 'file'],
  ] as const) {
    const content = makeContent(length);

    it(`keeps ${length} bytes of announced length in ${place === 'memory' ? 'memory' : 'a file'}`, async () => {
      await expectContent((await startFileServer(announced(content))).url, content, place);
    });

    it(`keeps ${length} bytes without an announced length in ${place === 'memory' ? 'memory' : 'a file'}`, async () => {
      await expectContent((await startFileServer(unannounced(content))).url, content, place);
    });

    it(`keeps ${length} bytes of a data URL in ${place === 'memory' ? 'memory' : 'a file'}`, async () => {
      await expectContent(`data:image/png;base64,${content.toString('base64')}`, content, place);
    });
  }

  it('opens the file for an output of large announced length as soon as its first bytes arrive', async () => {
    const content = makeContent(MEMORY_MAX_BYTES + 1);
    let isOpened = false;
    const slow = await startFileServer((_request, response) => {
      response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, 1));
      void eventually('opened', () => isOpened).then(() => response.end(content.subarray(1)));
    });
    const found = await fetchUrl(slow.url, {}, () => {
      isOpened = true;
      return newFile();
    });
    expect(await readFile((found as { localFile: string }).localFile)).to.deep.equal(content);
  });

  it('blames the disk, and closes the connection, if the file cannot be opened', async () => {
    let isClosed = false;
    const endless = await startFileServer((_request, response) => {
      const write = () => {
        while (response.write(Buffer.alloc(10_000)));
        response.once('drain', write);
      };
      response.once('close', () => (isClosed = true));
      write();
    });
    const error = await captureError(fetchUrl(endless.url, {}, async () => join(folder, 'missing', 'file')));
    expect(error).to.be.instanceOf(LocalFileError);
    expect((error.cause as NodeJS.ErrnoException).code).to.equal('ENOENT');
    await eventually('closed', () => isClosed);
    const reason = new Error('no folder');
    expect(await captureError(fetchUrl(endless.url, {}, () => Promise.reject(reason)))).to.equal(reason);
  });

  it('fails with a temporary error if the response breaks off while it is written to the file', async () => {
    const broken = await startFileServer((_request, response) => {
      response.writeHead(200, { 'content-length': 10 * MEMORY_MAX_BYTES });
      response.write(makeContent(2 * MEMORY_MAX_BYTES), () => setTimeout(() => response.destroy(), 50));
    });
    const error = await captureError(fetchUrl(broken.url));
    expect(error).to.not.be.instanceOf(InvalidOutputError).and.not.instanceOf(LocalFileError);
  });
});
