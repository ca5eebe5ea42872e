import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConnectProxy } from '../fakes/connectProxy.ts';
import { request, type TestCustomer } from '../harness/apiClient.ts';
import { createCertificates } from '../harness/certificates.ts';
import { createPkce, loadConsentPage, OAuthTestClient, REDIRECT_URI } from '../harness/oauthClient.ts';
import { type RunningApi, startTestService, type TestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

/** Status with which the host of documents answers. */
let documentStatus = 200;

/** Starts a web server with certificates for some names, which serves the document of a client on every path. */
async function startDocumentServer(folder: string, names: string[]): Promise<Server> {
  createCertificates(folder, names);
  const read = (name: string) => readFileSync(join(folder, name));
  const server = createServer({ key: read('server.key'), cert: read('server.crt') }, (incoming, response) => {
    const document = {
      client_id: `https://${incoming.headers.host}${incoming.url}`,
      client_name: 'Documented client',
      redirect_uris: [REDIRECT_URI],
    };
    response.writeHead(documentStatus, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('OAuth client metadata documents through a proxy', () => {
  const folder = useFolder();
  let service: TestService;
  let api: RunningApi;
  let customer: TestCustomer;
  let documents: Server;
  let proxy: ConnectProxy;
  before(async () => {
    documents = await startDocumentServer(folder, ['DNS:client.example', 'DNS:claude.ai']);
    proxy = await ConnectProxy.start((documents.address() as AddressInfo).port);
    service = await startTestService({ workers: 0 });
    api = await service.startApi({
      // Unset, so that the default applies.
      OAUTH_CLIENT_METADATA_DOCUMENTS: '',
      HTTPS_PROXY: `http://user:p%40ss@${proxy.host}`,
      NO_PROXY: 'direct.example',
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
    });
    customer = await service.createCustomer(null);
  });
  after(async () => {
    await service.stop();
    proxy.stop();
    documents.closeAllConnections();
    documents.close();
  });
  beforeEach(() => {
    proxy.refusal = undefined;
    proxy.requests.length = 0;
    proxy.closeTunnels();
  });

  const connectTo = (address: string) => new OAuthTestClient(api.baseUrl, address);
  const ask = (client: OAuthTestClient) =>
    loadConsentPage(api.baseUrl, customer, client.authorizePath(createPkce().challenge));
  const isAdvertised = async () =>
    (await request(api.baseUrl, 'GET', '/.well-known/oauth-authorization-server')).body
      .client_id_metadata_document_supported as boolean;

  it('are fetched by TLS through the tunnel, with the credentials of the proxy', async () => {
    const client = connectTo('https://client.example/through-proxy.json');
    const page = await ask(client);
    expect([page.status, page.body.includes('Documented client')]).to.deep.equal([200, true]);
    const credentials = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(proxy.requests).to.deep.equal([['client.example:443', credentials]]);
    const tokens = await client.authorizeAndExchange(customer);
    expect(tokens.access_token).to.be.a('string');
  });

  it('are fetched without the proxy from the hosts of NO_PROXY', async () => {
    // The names of this domain do not exist, so that the attempt fails.
    const page = await ask(connectTo('https://sub.direct.example/client.json'));
    expect([page.status, proxy.requests]).to.deep.equal([400, []]);
    expect(page.body).to.include('cannot be reached');
  });

  it('are not requested from the proxy at private addresses and local names', async () => {
    for (const host of [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '[::1]',
      '[::ffff:7f00:1]',
      'localhost',
      'intranet',
      'printer.local',
      'metadata.google.internal',
      'api.localhost',
    ]) {
      const { status, body } = await ask(connectTo(`https://${host}/client.json`));
      expect([status, body.includes('is at a private address')], host).to.deep.equal([400, true]);
    }
    expect(proxy.requests).to.deep.equal([]);
  });

  it('are rejected if the certificate is for another name, and the page says what to do', async () => {
    const { status, body } = await ask(connectTo('https://other.example/client.json'));
    expect([status, proxy.requests.length]).to.deep.equal([400, 1]);
    expect(body).to.include('connect with an API key instead');
    expect(body).to.include('cannot be reached').and.include('HTTPS_PROXY');
  });

  it('are rejected if the proxy refuses the tunnel', async () => {
    proxy.refusal = 403;
    const { status, body } = await ask(connectTo('https://client.example/refused.json'));
    expect([status, body.includes('cannot be reached')]).to.deep.equal([400, true]);
  });

  it('are advertised by default only while outbound https works', async () => {
    proxy.refusal = 502;
    const first = await Promise.all([isAdvertised(), isAdvertised(), isAdvertised()]);
    expect(first).to.deep.equal([false, false, false]);
    // One probe for all of them.
    expect(proxy.requests.map(([target]) => target)).to.have.members(['claude.ai:443', 'chatgpt.com:443']);
    proxy.refusal = undefined;
    expect(await isAdvertised()).to.equal(false);
    await service.moveClockTo(new Date(service.now.getTime() + 31_000));
    // The host of the document is enough: the other has another certificate.
    expect(await isAdvertised()).to.equal(true);
    proxy.refusal = 502;
    proxy.closeTunnels();
    expect(await isAdvertised()).to.equal(true);
    await service.moveClockTo(new Date(service.now.getTime() + 301_000));
    expect(await isAdvertised()).to.equal(false);
    proxy.refusal = undefined;
    documentStatus = 403;
    await service.moveClockTo(new Date(service.now.getTime() + 31_000));
    expect(await isAdvertised()).to.equal(false);
    documentStatus = 200;
    await service.moveClockTo(new Date(service.now.getTime() + 31_000));
    expect(await isAdvertised()).to.equal(true);
  });
});
