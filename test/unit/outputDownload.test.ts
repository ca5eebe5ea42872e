import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { setTestConfig } from '../harness/testConfig.ts';
import { download, type DownloadLimits, InvalidOutputError } from '../../shared/gateways/media/download.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { PNG } from '../fakes/misbehave.ts';
import { closeFileServers, type FileServer, startRawFileServer, startFileServer } from '../fakes/fileServers.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { useFolder } from '../harness/useFolder.ts';

const sendPng: RequestListener = (_request, response) => void response.end(PNG);

const isUseless = async (work: Promise<unknown>, message: RegExp) =>
  expect(await expectRejection(work, message)).to.be.instanceOf(InvalidOutputError);

const mayGoBetter = async (work: Promise<unknown>, message: RegExp) =>
  expect(await expectRejection(work, message)).to.not.be.instanceOf(InvalidOutputError);

const startStatus = (status: number) => startFileServer((_request, response) => response.writeHead(status).end());

describe('the download of an output', () => {
  const folder = useFolder();
  const file = join(folder, 'incoming');
  before(() => setTestConfig());
  afterEach(closeFileServers);

  const fetchFrom = ({ url, host }: Pick<FileServer, 'url' | 'host'>, limits: Partial<DownloadLimits> = {}) =>
    download({ url }, { upstreamHost: host, allowsPrivateAddresses: false }, file, {
      missingDelayMs: 1,
      missingRetries: 2,
      ...limits,
    });
  const take = (url: string, maxBytes = 1_000_000) => fetchFrom({ url, host: '' }, { maxBytes });

  it('stores the response', async () => {
    await fetchFrom(await startFileServer(sendPng));
    expect(await readFile(file)).to.deep.equal(PNG);
  });

  it('stores the content of a response that is compressed, within the size limit', async () => {
    const compressed = await startFileServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(100_000))),
    );
    await fetchFrom(compressed, { maxBytes: 100_000 });
    expect(await readFile(file)).to.have.length(100_000);
    await isUseless(fetchFrom(compressed, { maxBytes: 99_999 }), /larger than 99999 bytes/);
  });

  describe('with a size limit', () => {
    it('accepts an output of exactly the maximum size', async () => {
      await fetchFrom(await startFileServer(sendPng), { maxBytes: PNG.length });
      expect(await readFile(file)).to.deep.equal(PNG);
    });

    it('rejects an output whose announced length is too large, without fetching it', async () => {
      let sent = 0;
      const large = await startFileServer((_request, response) => {
        response.writeHead(200, { 'content-length': 50_000_000 });
        const more = () => {
          for (; sent < 50_000_000 && response.write(Buffer.alloc(100_000)); sent += 100_000);
        };
        response.on('drain', more);
        more();
      });
      await isUseless(fetchFrom(large, { maxBytes: 1_000 }), /^The output is larger than 1000 bytes\.$/);
      expect(sent).to.be.below(10_000_000);
    });

    it('rejects an output that is too large without an announced length', async () => {
      const large = await startFileServer((_request, response) => {
        const timer = setInterval(() => response.write(Buffer.alloc(500)), 5);
        response.once('close', () => clearInterval(timer));
      });
      await isUseless(fetchFrom(large, { maxBytes: 10_000 }), /larger than 10000 bytes/);
      expect((await readFile(file)).length).to.be.at.most(10_000);
    });

    it('reads no more than the announced length', async () => {
      const liar = await startRawFileServer((socket) =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n${'x'.repeat(9_000)}`),
      );
      await fetchFrom(liar, { maxBytes: 1_000 }).catch(() => {});
      expect((await readFile(file)).length).to.be.at.most(5);
    });

    for (const [what, head] of [
      ['its length', 'Content-Length: 1000\r\n\r\nhalf of it'],
      ['its chunks', 'Transfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n'],
    ] as const) {
      it(`fails with a temporary error if the response ends before ${what}`, async () => {
        const half = await startRawFileServer((socket) => socket.end(`HTTP/1.1 200 OK\r\n${head}`));
        await mayGoBetter(fetchFrom(half), /./);
      });

      it(`fails with a temporary error if the connection breaks before ${what}`, async () => {
        const half = await startRawFileServer((socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}`);
          setTimeout(() => socket.resetAndDestroy(), 50);
        });
        await mayGoBetter(fetchFrom(half), /./);
      });
    }
  });

  describe('with a time limit', () => {
    it('times out on a response that arrives too slowly, with a temporary error', async () => {
      const slow = await startFileServer((_request, response) => {
        const timer = setInterval(() => response.write('x'), 20);
        response.once('close', () => clearInterval(timer));
      });
      const startedAt = Date.now();
      await mayGoBetter(fetchFrom(slow, { timeoutMs: 300 }), /timeout|aborted/);
      expect(Date.now() - startedAt).to.be.within(250, scaleTimeout(2_000));
    });

    it('times out on a response that does not start or stalls', async () => {
      const silent = await startFileServer(() => {});
      await mayGoBetter(fetchFrom(silent, { idleMs: 300 }), /Headers Timeout/);
      const stuck = await startFileServer((_request, response) => response.write('x'));
      await mayGoBetter(fetchFrom(stuck, { idleMs: 300 }), /Body Timeout/);
    });

    it('includes redirects in the time limit', async () => {
      const slow = await startFileServer((request, response) => {
        const location = `${request.url}x`;
        setTimeout(() => response.writeHead(302, { location }).end(), 150);
      });
      await mayGoBetter(fetchFrom(slow, { timeoutMs: 400 }), /timeout/);
    });
  });

  describe('by status', () => {
    for (const status of [400, 401, 403, 404, 410, 204, 206, 302, 304]) {
      it(`fails for good after ${status}`, async () => {
        await isUseless(fetchFrom(await startStatus(status)), /returned status \d+\.$/);
      });
    }
    for (const status of [408, 429, 500, 502, 503, 504]) {
      it(`fails with a temporary error after ${status}`, async () => {
        await mayGoBetter(fetchFrom(await startStatus(status)), /returned status \d+\.$/);
      });
    }

    for (const status of [401, 403, 404]) {
      it(`waits for an output that is not there yet: ${status}`, async () => {
        let missing = 2;
        const late = await startFileServer((_request, response) => {
          missing -= 1;
          return missing >= 0 ? response.writeHead(status).end() : response.end(PNG);
        });
        await fetchFrom(late);
        expect(await readFile(file)).to.deep.equal(PNG);
        expect(late.requests).to.have.length(3);
      });
    }

    it('fails with a temporary error if the connection is dropped or refused', async () => {
      await mayGoBetter(fetchFrom(await startRawFileServer((socket) => socket.destroy())), /./);
      await mayGoBetter(fetchFrom({ url: 'http://127.0.0.1:1', host: '127.0.0.1:1' }), /ECONNREFUSED/);
    });
  });

  describe('from a data URL', () => {
    it('decodes chunks and line breaks', async () => {
      const content = Buffer.from(Array.from({ length: 300_001 }, (_, index) => index % 251));
      await take(`data:image/png;base64,${content.toString('base64')}`);
      expect(await readFile(file)).to.deep.equal(content);
      await take(`DATA:;base64,${content.toString('base64').replaceAll(/.{76}/g, '$&\r\n')}`);
      expect(await readFile(file)).to.deep.equal(content);
    });

    it('rejects data that is too large or not base64', async () => {
      const large = Buffer.alloc(200_000).toString('base64');
      await isUseless(take(`data:image/png;base64,${large}`, 100_000), /larger than 100000 bytes/);
      for (const end of ['', 'image/png,abc', 'image/png;base64', 'image/png;base64,a*b=', ';base64,A%3D'])
        await isUseless(take(`data:${end}`), /not valid base64 data/);
    });
  });
});
