import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { download, InvalidOutputError } from '../../shared/gateways/media/download.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { isPrivateAddress, lookupPublicAddress } from '../../shared/lib/ssrfGuard.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { PNG } from '../fakes/misbehave.ts';
import { closeFileServers, startRedirectServer, startFileServer } from '../fakes/fileServers.ts';
import { useFolder } from '../harness/useFolder.ts';

const sendPng: RequestListener = (_request, response) => void response.end(PNG);

/** Starts a server with a chain of redirects that ends at a file. */
const startChain = (length: number) =>
  startFileServer((request, response) => {
    const step = Number(request.url?.slice(1));
    if (step === length) response.end(PNG);
    else response.writeHead(307, { location: String(step + 1) }).end();
  });

const resolve = (name: string, all: boolean) =>
  new Promise((done) => lookupPublicAddress(name, { all }, (error, address) => done(error ?? address)));

const HOME = `
  127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 0 0.0.0.0 127.0.0.1. localhost LOCALHOST
  [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1]`;
const NEIGHBOURS = `
  10.0.0.1 100.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255
  [fe80::1] [fd00::1] [fec0::1] [ff02::1] [2002:7f00:1::] [2001::1] [64:ff9b::7f00:1]
  [::ffff:10.0.0.1] [::ffff:a9fe:a9fe] [::ffff:0:127.0.0.1] ①②⑦.⓪.⓪.① 127。0。0。1 %31%32%37.0.0.1`;

const isUseless = async (work: Promise<unknown>, message: RegExp) =>
  expect(await expectRejection(work, message)).to.be.instanceOf(InvalidOutputError);

describe('the addresses of a download', () => {
  const folder = useFolder();
  const file = join(folder, 'incoming');
  before(() => setTestConfig());
  afterEach(closeFileServers);

  /** Downloads with the policy of an upstream at this host. */
  const fetchFrom = ({ url, host }: { url: string; host: string }, path = '') =>
    download({ url: `${url}${path}` }, { upstreamHost: host, allowsPrivateAddresses: false }, file);

  describe('with redirects', () => {
    it('follows three redirects, and not a fourth', async () => {
      await fetchFrom(await startChain(3), '/0');
      expect(await readFile(file)).to.deep.equal(PNG);
      await isUseless(fetchFrom(await startChain(4), '/0'), /too many redirects/);
    });

    for (const location of [
      'http://[',
      'file:///etc/passwd',
      'ftp://a.example/x',
      'data:image/png;base64,AAAA',
      '//',
    ]) {
      it(`rejects a redirect to ${location}`, async () => {
        await isUseless(fetchFrom(await startRedirectServer(location)), /no usable address/);
      });
    }

    it('sends headers to the first origin, and to no other one', async () => {
      const other = await startFileServer(sendPng);
      const first = await startFileServer((request, response) => {
        const location = request.url === '/here' ? '/there' : other.url;
        response.writeHead(302, { location }).end();
      });
      const headers = { authorization: 'Bearer secret' };
      await download({ url: `${first.url}/here`, headers }, { upstreamHost: '', allowsPrivateAddresses: true }, file);
      expect(first.requests).to.deep.equal([
        ['/here', 'Bearer secret'],
        ['/there', 'Bearer secret'],
      ]);
      expect(other.requests).to.deep.equal([['/', undefined]]);
    });

    it('sends no headers after another origin redirects back', async () => {
      let home = '';
      const other = await startFileServer((_request, response) =>
        response.writeHead(302, { location: `${home}/back` }).end(),
      );
      const first = await startFileServer((request, response) => {
        if (request.url === '/back') response.end(PNG);
        else response.writeHead(302, { location: other.url }).end();
      });
      home = first.url;
      const source = { url: first.url, headers: { authorization: 'x' } };
      await download(source, { upstreamHost: '', allowsPrivateAddresses: true }, file);
      expect(first.requests.at(-1)).to.deep.equal(['/back', undefined]);
    });
  });

  describe('at private addresses', () => {
    for (const name of HOME.trim().split(/\s+/)) {
      it(`rejects ${name}, at first and behind a redirect`, async () => {
        const secret = await startFileServer(sendPng);
        const url = `http://${name}:${new URL(secret.url).port}/`;
        await isUseless(fetchFrom({ url, host: 'example.com' }), /private address/);
        await isUseless(fetchFrom(await startRedirectServer(url)), /private address/);
        expect(secret.requests).to.deep.equal([]);
      });
    }

    for (const name of NEIGHBOURS.trim().split(/\s+/)) {
      it(`rejects ${name}`, async () => {
        await isUseless(
          download({ url: `http://${name}/` }, { upstreamHost: 'example.com', allowsPrivateAddresses: false }, file, {
            timeoutMs: 500,
          }),
          /private address/,
        );
      });
    }

    it('accepts private addresses for a local upstream, and for the host of the upstream', async () => {
      const local = await startFileServer(sendPng);
      await download({ url: local.url }, { upstreamHost: 'example.com', allowsPrivateAddresses: true }, file);
      await download({ url: local.url }, { upstreamHost: local.host, allowsPrivateAddresses: false }, file);
      expect(local.requests).to.have.length(2);
      const elsewhere = { url: local.url.replace('127.0.0.1', 'localhost') };
      await isUseless(fetchFrom({ ...elsewhere, host: local.host }), /private address/);
    });

    it('detects public addresses in every notation', () => {
      for (const address of '8.8.8.8 1.1.1.1 172.32.0.1 ::ffff:8.8.8.8 ::ffff:808:808 2606:4700::1111'.split(' '))
        expect(isPrivateAddress(address), address).to.equal(false);
      expect(isPrivateAddress('fe80::1%eth0')).to.equal(true);
      for (const documentation of ['192.0.2.7', '198.51.100.7', '203.0.113.7'])
        expect(isPrivateAddress(documentation), documentation).to.equal(true);
    });

    it('resolves a name when it connects, not before', async () => {
      expect(await resolve('8.8.8.8', false)).to.equal('8.8.8.8');
      expect(await resolve('8.8.8.8', true)).to.deep.equal([{ address: '8.8.8.8', family: 4 }]);
      for (const all of [false, true]) expect(await resolve('localhost', all)).to.include({ code: 'EPRIVATE' });
    });
  });
});
