import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { closeFileServers, type FileServer, startFileServer } from '../fakes/fileServers.ts';
import { request, type TestCustomer } from '../harness/apiClient.ts';
import { createPkce, loadConsentPage, OAuthTestClient, REDIRECT_URI } from '../harness/oauthClient.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const buildMetadataDocument = (clientId: string, changes: object = {}) => ({
  client_id: clientId,
  client_name: 'Documented client',
  redirect_uris: [REDIRECT_URI],
  token_endpoint_auth_method: 'none',
  ...changes,
});

const send = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

describe('OAuth client metadata documents', () => {
  let service: TestService;
  let customer: TestCustomer;
  /** Serves the metadata documents of clients. */
  let documents: FileServer;
  let answerDocument: (request: IncomingMessage, response: ServerResponse) => void;
  before(async () => {
    documents = await startFileServer((request, response) => answerDocument(request, response));
    service = await startTestService({ workers: 0, env: { OAUTH_CLIENT_DOCUMENT_HOST: documents.host } });
    customer = await service.createCustomer(null);
  });
  after(async () => {
    await service.stop();
    closeFileServers();
  });

  const expireDocuments = () =>
    service.sql('UPDATE oauth_clients SET metadata_expires_at = now() WHERE metadata_expires_at IS NOT NULL');
  const asked = (path: string) => documents.requests.filter(([seen]) => seen === path).length;
  /** Serves a metadata document at a path. @returns its client. */
  const documented = (path: string, changes: object = {}, headers: Record<string, string> = {}) => {
    const clientId = `${documents.url}${path}`;
    answerDocument = (_request, response) => send(response, buildMetadataDocument(clientId, changes), headers);
    return new OAuthTestClient(service.baseUrl, clientId);
  };

  it('metadata documents are neither advertised nor fetched if OAUTH_CLIENT_METADATA_DOCUMENTS is off', async () => {
    const { baseUrl } = await service.startApi({ OAUTH_CLIENT_METADATA_DOCUMENTS: 'off' });
    const { body: metadata } = await request(baseUrl, 'GET', '/.well-known/oauth-authorization-server');
    expect(metadata.client_id_metadata_document_supported).to.equal(false);
    const client = documented('/switched-off').on(baseUrl);
    const headers = { cookie: customer.cookie };
    const page = await request(baseUrl, 'GET', client.authorizePath(createPkce().challenge), { headers });
    expect(page.status).to.equal(400);
    expect(page.body).to.include('does not accept client metadata documents').and.include('API key');
    expect(asked('/switched-off')).to.equal(0);
  });

  const { challenge } = createPkce();
  const ask = (client: OAuthTestClient) => loadConsentPage(service.baseUrl, customer, client.authorizePath(challenge));
  async function expectUnusable(client: OAuthTestClient, says: RegExp): Promise<void> {
    const { status, body, headers } = await ask(client);
    expect([status, headers.get('location')]).to.deep.equal([400, null]);
    expect(body).to.match(says);
  }

  it('a client with a metadata document connects without registration', async () => {
    const client = documented('/client.json');
    const page = await ask(client);
    expect([page.status, page.body.includes('Documented client')]).to.deep.equal([200, true]);
    const tokens = await client.authorizeAndExchange(customer);
    expect((await client.refresh(tokens.refresh_token)).status).to.equal(200);
  });

  /** Seconds for which the document at a path is still cached. */
  const freshFor = async (path: string) =>
    Number(
      (
        await service.sql(
          'SELECT extract(epoch FROM metadata_expires_at - now()) AS s FROM oauth_clients WHERE client_id = $1',
          [`${documents.url}${path}`],
        )
      )[0].s,
    );

  it('a metadata document is fetched once within its cache lifetime', async () => {
    const hour = documented('/hour.json', {}, { 'cache-control': 'max-age=3600' });
    await Promise.all(Array.from({ length: 10 }, () => ask(hour)));
    await ask(hour);
    expect(asked('/hour.json')).to.equal(1);
    expect(await freshFor('/hour.json')).to.be.within(3_500, 3_600);
    for (const [path, header, seconds] of [
      ['/never.json', 'no-store', 300],
      ['/short.json', 'max-age=1', 300],
      ['/ever.json', 'public, max-age=31536000', 86_400],
    ] as const) {
      await ask(documented(path, {}, { 'cache-control': header }));
      expect(await freshFor(path), path).to.be.within(seconds - 60, seconds);
    }
    await expireDocuments();
    documented('/hour.json', { redirect_uris: ['https://moved.example/cb'] });
    await expectUnusable(hour, /redirect_uri/);
    expect(asked('/hour.json')).to.equal(2);
  });

  const expireDaysAgo = (days: number) =>
    service.sql('UPDATE oauth_clients SET metadata_expires_at = now() - make_interval(days => $1)', [days]);

  for (const [status, type] of [
    [403, 'text/html'],
    [500, 'application/json'],
    [200, 'text/html'],
  ] as const) {
    it(`the last version of a document is used for 30 days while its host answers ${status} with ${type}`, async () => {
      const path = `/blocked/${status}/${type}.json`;
      const client = documented(path);
      expect((await ask(client)).status).to.equal(200);
      answerDocument = (_request, response) => response.writeHead(status, { 'content-type': type }).end('<html>');
      await expireDaysAgo(29);
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const page = await ask(client);
        expect([page.status, page.body.includes('Documented client')]).to.deep.equal([200, true]);
      }
      // The second attempt to fetch follows after five minutes.
      expect(asked(path)).to.equal(2);
      await expireDaysAgo(30);
      await expectUnusable(client, /responded with|not of the type/);
      documented(path);
      expect((await ask(client)).status).to.equal(200);
    });
  }

  it('the last version of a document is not used once its host has removed it', async () => {
    const client = documented('/removed.json');
    expect((await ask(client)).status).to.equal(200);
    await expireDocuments();
    answerDocument = (_request, response) => response.writeHead(404).end();
    await expectUnusable(client, /responded with 404/);
  });

  it('a metadata document of another client or with invalid metadata is rejected', async () => {
    await expectUnusable(
      documented('/a.json', { client_id: 'https://other.example/client.json' }),
      /another client_id/,
    );
    await expectUnusable(documented('/b.json', { client_id: undefined }), /another client_id/);
    await expectUnusable(documented('/c.json', { redirect_uris: ['http://evil.example/'] }), /redirect_uris/);
    await expectUnusable(documented('/d.json', { grant_types: ['client_credentials'] }), /authorization_code/);
    await expectUnusable(documented('/e.json', { padding: 'x'.repeat(6_000) }), /more than 5120 bytes/);
    const stored = await service.sql(`SELECT 1 FROM oauth_clients WHERE client_id ~ '/[a-e].json$'`);
    expect(stored).to.deep.equal([]);
  });

  it('a response that is not a metadata document is rejected', async () => {
    const replies: [RegExp, (response: ServerResponse) => void][] = [
      [/responded with 404/, (response) => response.writeHead(404).end()],
      [/responded with 500/, (response) => response.writeHead(500, { 'content-type': 'application/json' }).end('{}')],
      [/not of the type/, (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('{}')],
      [/not a JSON object/, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]')],
      [/not a JSON object/, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
      [/cannot be reached/, (response) => response.destroy()],
    ];
    for (const [index, [says, reply]] of replies.entries()) {
      const client = documented(`/bad-${index}.json`);
      answerDocument = (_request, response) => reply(response);
      await expectUnusable(client, says);
    }
  });

  it('a metadata document that does not arrive within 5 seconds is rejected', async () => {
    const client = documented('/slow.json');
    answerDocument = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    await expectUnusable(client, /did not come within 5 s/);
  });

  it('redirects of a metadata document are not followed', async () => {
    const secret = await startFileServer((_request, response) => send(response, {}));
    const client = documented('/moved.json');
    for (const status of [301, 302, 303, 307, 308]) {
      answerDocument = (_request, response) => response.writeHead(status, { location: secret.url }).end();
      await expectUnusable(client, new RegExp(`responded with ${status}`));
    }
    expect(secret.requests).to.deep.equal([]);
  });

  it('metadata documents are not fetched from private addresses or names that resolve to them', async () => {
    const secret = await startFileServer((_request, response) => send(response, {}));
    const { port } = new URL(secret.url);
    for (const host of [
      '127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      '192.168.1.1',
      '[::1]',
      '[fd00::1]',
      '[::ffff:7f00:1]',
    ])
      await expectUnusable(
        new OAuthTestClient(service.baseUrl, `https://${host}:${port}/client.json`),
        /private address/,
      );
    for (const host of ['localhost'])
      await expectUnusable(
        new OAuthTestClient(service.baseUrl, `https://${host}:${port}/client.json`),
        /private address|cannot be reached/,
      );
    expect(secret.requests).to.deep.equal([]);
  });

  it('addresses that are rejected at once do not count as fetches in progress', async () => {
    for (let index = 0; index < 10; index += 1)
      await expectUnusable(new OAuthTestClient(service.baseUrl, `https://127.0.0.1/${index}.json`), /private address/);
    expect((await ask(documented('/after-rejections.json'))).status).to.equal(200);
  });

  it('the consent page names the host of the document, as verified if the code is returned to a web address', async () => {
    const { host } = new URL(documents.url);
    const local = (await ask(documented('/local.json'))).body;
    expect(local).to.include(`Published by <strong>${host}</strong>`).and.not.include('>Verified<');
    const redirect = 'https://assistant.example/callback';
    const { clientId } = documented('/web.json', { redirect_uris: [redirect] });
    const web = (await ask(new OAuthTestClient(service.baseUrl, clientId, redirect))).body;
    expect(web).to.match(new RegExp(`>Verified</span> Published by <strong>${host}</strong>`));
  });

  it('a client id must be a canonical https URL with a path', async () => {
    const { host } = new URL('https://client.example/');
    for (const id of [
      `http://${host}/client.json`,
      `https://${host}`,
      `https://${host}/`,
      `https://${host}/a/../client.json`,
      `https://${host}/./client.json`,
      `https://${host}/client.json#x`,
      `https://user@${host}/client.json`,
      `https://CLIENT.example/client.json`,
      'https://2130706433/client.json',
      'https://0x7f.1/client.json',
      `https://${host}:443/client.json`,
      `ftp://${host}/client.json`,
    ]) {
      await expectUnusable(new OAuthTestClient(service.baseUrl, id), /not registered here/);
    }
  });

  it('a metadata document at a private address requires OAUTH_CLIENT_DOCUMENT_HOST', async () => {
    const { baseUrl } = await service.startApi({ OAUTH_CLIENT_DOCUMENT_HOST: '' });
    const client = documented('/untrusted.json').on(baseUrl);
    const page = await loadConsentPage(baseUrl, customer, client.authorizePath(challenge));
    expect([page.status, asked('/untrusted.json')]).to.deep.equal([400, 0]);
  });
});
