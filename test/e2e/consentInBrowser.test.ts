import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { expectOutcome, pressEnterOn, tabTo } from '../harness/browserPages.ts';
import { CliUser } from '../harness/cliSignIn.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { decodeClaims, createPkce, type OAuthTestClient, registerClient } from '../harness/oauthClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/** Starts a program that listens on a loopback address for its callback, as assistants do. */
async function startLoopbackClient(host: string): Promise<{ server: Server; url: string; visits: string[] }> {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/callback') === true) visits.push(request.url);
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Connected.</p>');
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/callback`, visits };
}

/** Signs in on the open page, which returns to the consent page. @returns the e-mail address. */
const signIn = async (page: Page, email = `${randomUUID()}@example.com`) => {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/authorize?**');
  return email;
};

describe('consent, in a real browser', () => {
  let browser: Browser;
  let service: TestService;
  let local: Awaited<ReturnType<typeof startLoopbackClient>>;
  let client: OAuthTestClient;
  const { challenge, verifier } = createPkce();
  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ workers: 0 });
    local = await startLoopbackClient('127.0.0.1');
    client = await registerClient(service.baseUrl, { client_name: 'Desk assistant', redirect_uris: [local.url] });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    local?.server.close();
  });

  const open = async (path: string): Promise<Page> => {
    const page = await (await browser.newContext({ baseURL: service.baseUrl })).newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(path);
    return page;
  };

  it('issues tokens after the user has signed in and allowed the access', async () => {
    const page = await open(client.authorizePath(challenge, { state: 'first' }));
    const email = await signIn(page);
    const text = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
    for (const said of ['Desk assistant', email, '127.0.0.1', 'See your generations', 'Create images and videos'])
      expect(text).to.include(said);
    await page.getByLabel('Credits', { exact: true }).fill('50');
    await page.getByLabel('Each').selectOption('month');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('Connected.').waitFor();
    const reply = new URL(local.visits.at(-1) as string, local.url).searchParams;
    expect([reply.get('state'), reply.get('iss')]).to.deep.equal(['first', service.baseUrl]);
    const { body } = await client.exchangeCode(reply.get('code') as string, verifier);
    expect(decodeClaims(body.access_token)).to.include({ client_id: client.clientId });

    // The applications page lists the application and can disconnect it.
    await page.goto('/account/applications/');
    expect(await page.locator('main').innerText())
      .to.include('Desk assistant')
      .and.include('0 of 50 credits a month are used');
    // The limit is changed by keyboard.
    await pressEnterOn(page, page.getByRole('link', { name: 'Change the spending limit of Desk assistant' }));
    await tabTo(page, page.getByLabel('Credits', { exact: true }));
    await page.keyboard.type('120');
    await page.keyboard.press('Tab');
    await page.keyboard.type('day');
    await pressEnterOn(page, page.getByRole('button', { name: 'Save' }));
    await expectOutcome(page, '/account/applications/?done=limit-saved', 'The spending limit is saved');
    expect(await page.textContent('main')).to.include('0 of 120 credits a day are used');
    await page.close();
  });

  it('signs the command line in, with the spending limit that the user enters', async () => {
    const user = new CliUser(service, await service.createCustomer(null));
    const login = await user.startLogin();
    const page = await open(login.address.pathname + login.address.search);
    await signIn(page);
    expect(await page.locator('main').innerText())
      .to.include('Connect genmeter command line?')
      .and.include('Create, cancel and delete images and videos');
    await page.getByLabel('Credits', { exact: true }).fill('40');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('Return to the terminal').waitFor();
    const { status, stderr } = await login.result;
    expect(status, stderr).to.equal(0);
    expect((await user.run('usage')).status).to.equal(0);
    await page.goto('/account/applications/');
    expect(await page.locator('main').innerText()).to.include('0 of 40 credits');
    user.remove();
    await page.close();
  });

  it('returns the code to a client that listens on IPv6', async function () {
    const six = await startLoopbackClient('::1').catch(() => undefined);
    // This machine has no IPv6.
    if (six === undefined) return this.skip();
    const listener = await registerClient(service.baseUrl, { redirect_uris: [six.url] });
    const page = await open(listener.authorizePath(challenge));
    await signIn(page);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('Connected.').waitFor();
    const code = new URL(six.visits.at(-1) as string, six.url).searchParams.get('code') as string;
    expect((await listener.exchangeCode(code, verifier)).status).to.equal(200);
    await page.close();
    six.server.close();
  });

  it('cannot be framed or submitted by another site', async () => {
    const page = await open(client.authorizePath(challenge));
    await signIn(page);
    const target = page.url();
    const visits = local.visits.length;
    // Another origin on this machine: the same site to a browser, so that even a Lax cookie travels.
    await page.goto(new URL('/evil', local.url).href);
    // The browser's own report, which comes within the page's time limit. Queries inside the frame have no limit, and
    // wait for as long as the browser replaces the refused document by its error page.
    const [refused] = await Promise.all([
      page.waitForEvent('requestfailed', (request) => request.url() === target),
      page.setContent(`<iframe src="${target.replaceAll('&', '&amp;')}"></iframe>`, { waitUntil: 'commit' }),
    ]);
    expect(refused.failure()?.errorText).to.equal('net::ERR_BLOCKED_BY_RESPONSE');
    await page.setContent(
      `<form method="post" action="${target.replaceAll('&', '&amp;')}"><input name="decision" value="allow"><button>Go</button></form>`,
    );
    const [reply] = await Promise.all([
      page.waitForResponse(
        (response) => response.url().startsWith(service.baseUrl) && response.request().method() === 'POST',
      ),
      page.click('button'),
    ]);
    expect(reply.status()).to.equal(403);
    expect(local.visits).to.have.length(visits);
    // Chromium may not close a page whose navigation has only begun.
    await page.waitForURL('**/authorize?**');
    await page.close();
  });
});
