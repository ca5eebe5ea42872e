import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { download, InvalidOutputError } from '../../shared/gateways/media/download.ts';
import { readHead, sniffFormat } from '../../shared/gateways/media/formats.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { useFolder } from '../harness/useFolder.ts';

describe('the format of an output', () => {
  const folder = useFolder();
  const file = join(folder, 'incoming');
  before(() => setTestConfig());
  afterEach(closeFileServers);

  async function detectFormat(content: string | Buffer, calledBySender: string, kind: 'image' | 'video' = 'image') {
    const { url, host } = await startFileServer((_request, response) => {
      response.setHeader('content-type', calledBySender).end(content);
    });
    await download({ url }, { upstreamHost: host, allowsPrivateAddresses: false }, file);
    return sniffFormat(await readHead(file), kind);
  }

  it('is detected by its content: an image declared as text is an image', async () => {
    expect(await detectFormat(PNG, 'text/plain')).to.include({ extension: 'png', contentType: 'image/png' });
  });

  it('is not taken from the declared type: an HTML page and an empty file are not images', async () => {
    for (const content of ['<html>Welcome to nginx!</html>', '{"error":"expired"}', '', 'RIFF....WAVEfmt ']) {
      const error = await expectRejection(detectFormat(content, 'image/png'), /^The output is not an image\.$/);
      expect(error).to.be.instanceOf(InvalidOutputError);
    }
  });

  it('is detected however small the chunks are', async () => {
    const { url, host } = await startFileServer((_request, response) => {
      response.writeHead(200);
      for (const byte of PNG) response.write(Buffer.from([byte]));
      response.end();
    });
    await download({ url }, { upstreamHost: host, allowsPrivateAddresses: false }, file);
    expect(await readHead(file)).to.deep.equal(PNG.subarray(0, 16));
    expect(sniffFormat(PNG, 'image')).to.deep.equal(sniffFormat(await readHead(file), 'image'));
  });

  it('must match the requested kind: an image is not a video, and a video is not an image', async () => {
    await expectRejection(detectFormat(PNG, 'video/mp4', 'video'), /^The output is not a video\.$/);
    await expectRejection(detectFormat(MP4, 'image/png', 'image'), /^The output is not an image\.$/);
  });

  const heads: [string, string, 'image' | 'video', string][] = [
    ['jpg', 'image/jpeg', 'image', 'ffd8ffe000104a464946'],
    ['webp', 'image/webp', 'image', '524946462a00000057454250'],
    ['mp4', 'video/mp4', 'video', '0000002066747970'],
    ['webm', 'video/webm', 'video', '1a45dfa3'],
  ];
  for (const [extension, contentType, kind, head] of heads) {
    it(`can be ${extension}`, async () => {
      await writeFile(file, Buffer.from(head, 'hex'));
      expect(sniffFormat(await readHead(file), kind)).to.include({ extension, contentType });
    });
  }
});
