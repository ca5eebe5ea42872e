import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { LocalFileError } from '../../shared/gateways/media/download.ts';
import { fetchImage, InvalidImageError } from '../../shared/gateways/media/inputImages.ts';
import { closeServiceScope } from '../../shared/lib/serviceScope.ts';
import { closeFileServers, startFileServer, startRedirectServer } from '../fakes/fileServers.ts';
import { captureError } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { useFolder } from '../harness/useFolder.ts';

describe("fetching a customer's image", () => {
  const folder = useFolder();
  const file = join(folder, 'image');
  afterEach(async () => {
    await closeServiceScope();
    closeFileServers();
  });

  async function getMessage(url: string): Promise<string> {
    const error = await captureError(fetchImage(url, file));
    expect(error, url).to.be.instanceOf(InvalidImageError);
    return error.message;
  }

  it('requests a missing image once: a customer waits for the answer', async () => {
    setTestConfig({ INPUT_IMAGE_ADDRESSES: 'any' });
    const { url, requests } = await startFileServer((_request, response) => response.writeHead(404).end());
    expect(await getMessage(`${url}/image.png`)).to.match(/returned status 404\.$/);
    expect(requests).to.have.length(1);
  });

  describe('from public addresses only', () => {
    beforeEach(() => setTestConfig());

    for (const host of ['169.254.169.254', '[::ffff:a9fe:a9fe]']) {
      it(`rejects https://${host}`, async () => {
        expect(await getMessage(`https://${host}/image.png`)).to.equal('The image is at a private address.');
      });
    }

    it('rejects http, and names that do not resolve to a public address', async () => {
      const { url, requests } = await startFileServer((_request, response) => response.end('image'));
      expect(await getMessage(`${url}/image.png`)).to.equal('The address does not begin with https://.');
      expect(await getMessage('ftp://example.com/image.png')).to.equal('The image has no usable address.');
      expect(await getMessage('https://localhost/image.png')).to.match(/private address|could not be fetched/);
      expect(await getMessage('https://name.invalid/image.png')).to.include('could not be fetched');
      expect(requests).to.deep.equal([]);
    }).timeout(20_000);
  });

  describe('within its limits', () => {
    beforeEach(() => setTestConfig({ INPUT_IMAGE_ADDRESSES: 'any' }));

    it('stores the content, and follows redirects', async () => {
      const target = await startFileServer((_request, response) => response.end('image'));
      const redirect = await startRedirectServer(`${target.url}/moved.png`);
      await fetchImage(`${redirect.url}/image.png`, file);
      expect(await readFile(file, 'utf8')).to.equal('image');
      expect(target.requests).to.deep.equal([['/moved.png', undefined]]);
    });

    it('rejects more than 20 MB, announced or not', async () => {
      const announced = await startFileServer((_request, response) => {
        response.writeHead(200, { 'content-length': 20_000_001 });
        response.flushHeaders();
      });
      expect(await getMessage(announced.url)).to.equal('The image is larger than 20000000 bytes.');
      const endless = await startFileServer((_request, response) => {
        const write = () => {
          while (response.write(Buffer.alloc(1_000_000)));
          response.once('drain', write);
        };
        write();
      });
      expect(await getMessage(endless.url)).to.equal('The image is larger than 20000000 bytes.');
    }).timeout(20_000);

    it('says what the address returned', async () => {
      const missing = await startFileServer((_request, response) => response.writeHead(404).end());
      expect(await getMessage(missing.url)).to.equal("The image's address returned status 404.");
      const broken = await startFileServer((_request, response) => response.writeHead(500).end());
      expect(await getMessage(broken.url)).to.include('could not be fetched');
      const dropping = await startFileServer((request) => request.socket.destroy());
      expect(await getMessage(dropping.url)).to.include('could not be fetched');
    });

    it('does not blame the image for a full disk or a missing folder', async () => {
      const { url } = await startFileServer((_request, response) => response.end('image'));
      for (const [unwritable, code] of [
        ['/dev/full', 'ENOSPC'],
        [join(folder, 'missing', 'image'), 'ENOENT'],
      ] as const) {
        const error = await captureError(fetchImage(url, unwritable));
        expect(error).to.be.instanceOf(LocalFileError);
        expect((error.cause as NodeJS.ErrnoException).code).to.equal(code);
      }
    });

    it('rejects a loop of redirects, and a redirect to another protocol', async () => {
      const loop = await startFileServer((request, response) =>
        response.writeHead(302, { location: request.url }).end(),
      );
      expect(await getMessage(loop.url)).to.equal('The image has too many redirects.');
      for (const location of ['file:///etc/passwd', 'data:image/png;base64,AAAA', 'gopher://127.0.0.1']) {
        const redirect = await startRedirectServer(location);
        expect(await getMessage(redirect.url), location).to.equal('The image has no usable address.');
      }
    });
  });
});
