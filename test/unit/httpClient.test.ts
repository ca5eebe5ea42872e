import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Agent } from 'undici';
import { getContent, readText, sendRequest } from '../../shared/gateways/httpClient.ts';
import { VERSION } from '../../shared/spec/version.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { buildSubmission, buildUpstream, getHandle } from '../harness/upstreamAdapter.ts';

const TEXT = JSON.stringify({ text: 'é'.repeat(2_000) });

describe('the HTTP client', () => {
  const dispatcher = new Agent();
  after(() => dispatcher.destroy());
  afterEach(closeFileServers);

  const send = (url: string) => sendRequest(url, { dispatcher, signal: AbortSignal.timeout(5_000) });
  const ask = async (answer: RequestListener) => send((await startFileServer(answer)).url);
  const askFor = (coding: string, body: Buffer) =>
    ask((_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(body));

  it('names the service, and asks for content without an encoding', async () => {
    let headers: IncomingHttpHeaders = {};
    await ask((request, response) => {
      ({ headers } = request);
      response.end();
    });
    expect(headers).to.include({ 'user-agent': `genmeter/${VERSION}`, 'accept-encoding': 'identity' });
  });

  for (const [coding, body] of [
    ['gzip', gzipSync(TEXT)],
    ['GZIP', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['identity', Buffer.from(TEXT)],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
  ] as const) {
    it(`decodes content that is encoded as ${coding}`, async () => {
      expect(await readText(await askFor(coding, body), 10_000)).to.equal(TEXT);
    });
  }

  it('decodes no more than the reader accepts', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    await expectRejection(readText(await askFor('gzip', bomb), 1_000), /larger than 1000 bytes/);
  });

  it('fails for content that is cut off, or has an unknown encoding', async () => {
    const half = gzipSync(TEXT).subarray(0, 20);
    await expectRejection(readText(await askFor('gzip', half), 10_000), /unexpected end of file/);
    await expectRejection(readText(await askFor('zpaq', half), 10_000), /unknown encoding zpaq/);
    await expectRejection(readText(await askFor('constructor', half), 10_000), /unknown encoding/);
    await expectRejection(readText(await askFor('br, br, br, br', half), 10_000), /unknown encoding/);
  });

  it('closes the connection if the reader stops', async () => {
    const content = getContent(await askFor('gzip', gzipSync(Buffer.alloc(50_000_000))));
    for await (const chunk of content) {
      expect(chunk).to.have.length.above(0);
      break;
    }
    expect(content.destroyed).to.equal(true);
  });

  for (const name of ['fal', 'replicate', 'openai'] as const) {
    it(`reads compressed responses of an upstream with the ${name} adapter`, async () => {
      const fake = await new FakeUpstream('test').start();
      fake.isCompressing = true;
      const path = name === 'fal' ? '' : '/v1';
      setTestConfig();
      const upstream = buildUpstream(name, 'video', 'owner/name-to-video', { baseUrl: `${fake.url}${path}` });
      const input = name === 'replicate' ? { duration: 5 } : {};
      const handle = getHandle(await upstream.submit(buildSubmission({ input })));
      expect((await upstream.poll(handle)).state).to.equal('succeeded');
      await fake.stop();
    });
  }
});
