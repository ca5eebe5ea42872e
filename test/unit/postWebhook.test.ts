import { Resolver } from 'node:dns';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import {
  createWebhookConnections,
  IDLE_CONNECTIONS_MAX,
  postWebhook,
  type WebhookConnections,
} from '../../shared/gateways/webhooks/postWebhook.ts';
import { createPublicLookup } from '../../shared/lib/ssrfGuard.ts';
import { NameServer } from '../fakes/nameServer.ts';
import { createCertificates } from '../harness/certificates.ts';
import { PRODUCTION_ENV, setTestConfig } from '../harness/testConfig.ts';
import { useFolder } from '../harness/useFolder.ts';

const post = (url: string, through: WebhookConnections) =>
  postWebhook({ url, headers: { 'webhook-id': 'msg_1' }, body: '{}' }, undefined, { through });

/** Resolves every name to this machine. */
const lookupLocal: LookupFunction = (_name, { all: isAll }, callback) =>
  isAll === true ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);

describe('the attempt to post a webhook', () => {
  let server: Server;
  let port: number;
  let requests = 0;
  before(async () => {
    // On all loopback addresses, each of which is an origin of its own.
    server = createServer((request, response) => {
      requests += 1;
      request.resume().once('end', () => response.end('{}'));
    }).listen(0, '0.0.0.0');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => setTestConfig());

  describe('to a name', () => {
    const names = new NameServer();
    let connections: WebhookConnections;
    before(async () => {
      const resolver = new Resolver({ timeout: 1_000, tries: 1 });
      resolver.setServers([await names.start()]);
      connections = createWebhookConnections(createPublicLookup(resolver));
    });
    after(async () => {
      await connections.agent.destroy();
      names.stop();
    });

    it('fails if the name has a private address when the connection is made, whatever it had before', async () => {
      const before = requests;
      const url = `http://rebinding.example:${port}/`;
      for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254']) {
        names.address = address;
        expect(await post(url, connections), address).to.deep.equal({ status: null, error: 'private address' });
      }
      expect(names.queries).to.be.least(3);
      expect(requests).to.equal(before);
    });

    it('fails if the name does not exist', async () => {
      names.address = undefined;
      expect(await post(`https://missing.example/`, connections)).to.deep.equal({
        status: null,
        error: 'name not resolved',
      });
    });
  });

  describe('over TLS', () => {
    const folder = useFolder();
    let secure: TlsServer;
    let received = 0;
    let securePort: number;
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    const useCertificate = (name: 'ca' | 'server') =>
      secure.setSecureContext({ cert: read(`${name}.crt`), key: read(`${name}.key`) });

    before(async () => {
      createCertificates(folder);
      secure = createTlsServer({ cert: read('server.crt'), key: read('server.key') }, (request, response) => {
        received += 1;
        request.resume().once('end', () => response.end('{}'));
      }).listen(0, '127.0.0.1');
      await once(secure, 'listening');
      securePort = (secure.address() as AddressInfo).port;
    });
    after(() => {
      secure.closeAllConnections();
      secure.close();
    });
    beforeEach(() => setTestConfig({ WEBHOOK_ADDRESSES: 'any' }));

    async function postTo(host: string, ca?: string) {
      const connections = createWebhookConnections(lookupLocal, ca === undefined ? {} : { ca });
      try {
        return await post(`https://${host}:${securePort}/`, connections);
      } finally {
        await connections.agent.destroy();
      }
    }

    it('succeeds with a certificate of a trusted authority for the address', async () => {
      useCertificate('server');
      expect(await postTo('127.0.0.1', read('ca.crt'))).to.deep.equal({ status: 200, responseBody: '{}' });
      expect(received).to.equal(1);
    });

    it('sends nothing to a server whose certificate is self-signed, of an unknown authority, or for another name', async () => {
      const before = received;
      const failure = { status: null, error: 'TLS' };
      useCertificate('ca');
      expect(await postTo('127.0.0.1'), 'self-signed').to.deep.equal(failure);
      useCertificate('server');
      expect(await postTo('127.0.0.1'), 'unknown authority').to.deep.equal(failure);
      expect(await postTo('other.example', read('ca.crt')), 'another name').to.deep.equal(failure);
      expect(received).to.equal(before);
    });
  });

  it('fails for an address without https in production, and for other protocols', async () => {
    const connections = createWebhookConnections(undefined);
    setTestConfig({ WEBHOOK_ADDRESSES: 'any' });
    expect(await post('ftp://127.0.0.1/', connections)).to.deep.equal({ status: null, error: 'not https' });
    expect(await post('nonsense', connections)).to.deep.equal({ status: null, error: 'invalid address' });
    setTestConfig(PRODUCTION_ENV);
    for (const url of ['http://8.8.8.8/', 'HTTP://example.com:443/'])
      expect(await post(url, connections), url).to.deep.equal({ status: null, error: 'not https' });
    for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://[::ffff:10.0.0.1]/', 'https://0x7f.1/'])
      expect(await post(url, connections), url).to.deep.equal({ status: null, error: 'private address' });
    await connections.agent.destroy();
  });

  it('uses a connection again, and closes it after the idle time', async () => {
    setTestConfig({ WEBHOOK_ADDRESSES: 'any' });
    const connections = createWebhookConnections(undefined);
    for (let n = 0; n < 5; n += 1) {
      expect(await post(`http://127.0.0.1:${port}/`, connections)).to.deep.equal({ status: 200, responseBody: '{}' });
      // A response may arrive before its connection is free again.
      expect(connections.open).to.be.within(1, 2);
    }
    await delay(6_000);
    expect(connections.open).to.equal(0);
    await connections.agent.destroy();
  });

  it('keeps a limited number of idle connections, however many receivers there are', async () => {
    setTestConfig({ WEBHOOK_ADDRESSES: 'any' });
    const connections = createWebhookConnections(undefined);
    const receivers = Array.from({ length: 600 }, (_, n) => `http://127.0.${1 + Math.floor(n / 200)}.${1 + (n % 200)}`);
    for (let at = 0; at < receivers.length; at += 20) {
      const results = await Promise.all(
        receivers.slice(at, at + 20).map((receiver) => post(`${receiver}:${port}/`, connections)),
      );
      expect(results.every(({ status }) => status === 200)).to.equal(true);
    }
    await delay(100);
    expect(connections.open).to.be.within(1, IDLE_CONNECTIONS_MAX + 20);
    await connections.agent.destroy();
  });
});
