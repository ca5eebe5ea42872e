import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { closeFileServers, type FileServer, startFileServer } from '../fakes/fileServers.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createPkce, loadConsentPage, OAuthTestClient, REDIRECT_URI } from '../harness/oauthClient.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('fetches of OAuth client metadata documents', () => {
  let service: TestService;
  let documents: FileServer;
  /** Requests for documents that have not been answered, by path. */
  const waiting = new Map<string, ServerResponse>();
  before(async () => {
    documents = await startFileServer((request, response) => void waiting.set(String(request.url), response));
    service = await startTestService({ workers: 0, env: { OAUTH_CLIENT_DOCUMENT_HOST: documents.host } });
  });
  after(async () => {
    await service.stop();
    closeFileServers();
  });

  function ask(customer: TestCustomer, path: string) {
    const client = new OAuthTestClient(service.baseUrl, `${documents.url}${path}`);
    return loadConsentPage(service.baseUrl, customer, client.authorizePath(createPkce().challenge));
  }

  function reply(path: string): void {
    const document = {
      client_id: `${documents.url}${path}`,
      client_name: 'Documented client',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    };
    const response = waiting.get(path);
    waiting.delete(path);
    response?.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  }

  it('an account that waits for two slow documents gets its third rejected, and other accounts are served', async () => {
    const [customer, other] = [await service.createCustomer(null), await service.createCustomer(null)];
    const slow = [ask(customer, '/slow-1.json'), ask(customer, '/slow-2.json')];
    await eventually('both are being fetched', () => waiting.has('/slow-1.json') && waiting.has('/slow-2.json'));
    const third = await ask(customer, '/third.json');
    expect(third.status).to.equal(400);
    expect(waiting.has('/third.json')).to.equal(false);
    const others = ask(other, '/other.json');
    await eventually('the other is being fetched', () => waiting.has('/other.json'));
    for (const path of ['/other.json', '/slow-1.json', '/slow-2.json']) reply(path);
    expect((await Promise.all([others, ...slow])).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
  });

  it('a document of another account waits while the slow ones of four accounts are fetched', async () => {
    const paths = Array.from({ length: 8 }, (_, index) => `/held-${index}.json`);
    const customers = await Promise.all(Array.from({ length: 5 }, () => service.createCustomer(null)));
    const slow = paths.map((path, index) => ask(customers[index % 4] as TestCustomer, path));
    // The service opens four connections to a host.
    await eventually('four are being fetched', () => waiting.size === 4);
    const late = ask(customers[4] as TestCustomer, '/late.json');
    expect(await Promise.race([late, delay(500, 'it waits')])).to.equal('it waits');
    const replying = setInterval(() => [...waiting.keys()].forEach(reply), 20);
    const pages = await Promise.all([late, ...slow]);
    clearInterval(replying);
    expect(pages.map(({ status }) => status)).to.deep.equal(Array(9).fill(200));
  });
});
