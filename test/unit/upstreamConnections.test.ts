import type { Socket } from 'node:net';
import { expect } from 'chai';
import { requestJson } from '../../shared/gateways/upstreams/http.ts';
import { closeServiceScope } from '../../shared/lib/serviceScope.ts';
import { closeFileServers, startFileServer, startRawFileServer } from '../fakes/fileServers.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { captureUpstreamError } from '../harness/upstreamAdapter.ts';

const captureFault = async (url: string) => {
  const { fault, hasResponse, message } = await captureUpstreamError(requestJson('POST', url, { headers: {} }));
  expect(hasResponse, message).to.equal(false);
  return fault;
};
const startRaw = async (answer: (socket: Socket) => void) => (await startRawFileServer(answer)).url;
const toTls = (url: string) => url.replace('http:', 'https:');

describe('the connection of a submit', () => {
  before(() => setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' }));
  afterEach(closeFileServers);
  after(closeServiceScope);

  const failures: [string, () => Promise<string>][] = [
    ['is refused', () => Promise.resolve('http://127.0.0.1:1')],
    ['leads to a name that does not exist', () => Promise.resolve('http://upstream.invalid')],
    ['is reset during the TLS handshake', async () => toTls(await startRaw((socket) => socket.resetAndDestroy()))],
    ['is closed during the TLS handshake', async () => toTls(await startRaw((socket) => socket.end()))],
    ['leads to a server without TLS', async () => toTls((await startFileServer((_, response) => response.end())).url)],
    ['is not open before the time is over', async () => toTls(await startRaw(() => {}))],
  ];
  for (const [problem, getUrl] of failures) {
    it(`that ${problem} makes it unavailable, as nothing was sent`, async () => {
      expect(await captureFault(await getUrl())).to.equal('unavailable');
    });
  }

  it('that is reset or closed after the request leaves its outcome unknown', async () => {
    expect(await captureFault(await startRaw((socket) => socket.resetAndDestroy()))).to.equal('unknown');
    expect(await captureFault(await startRaw((socket) => socket.end()))).to.equal('unknown');
  });

  it('that takes the request and stays silent leaves its outcome unknown, also if it was open before', async () => {
    const { url } = await startFileServer((request, response) => {
      if (request.url === '/first') response.end('{}');
    });
    expect((await requestJson('POST', `${url}/first`, { headers: {} })).status).to.equal(200);
    expect(await captureFault(`${url}/second`)).to.equal('unknown');
  });
});
