import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectFits, expectOutcome, NARROW_WIDTH, openContext, pressEnterOn, tabTo } from '../harness/browserPages.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const visit = async (page: Page, path: string): Promise<void> => {
  await page.goto(path);
  await expectFits(page);
};

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('account pages, in a real browser', () => {
  let browser: Browser;
  let service: TestService;
  const contexts: BrowserContext[] = [];
  /** Errors that the pages reported. */
  const complaints: string[] = [];

  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ workers: 1 });
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).to.deep.equal([]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const open = async (customer: TestCustomer | undefined, options = {}): Promise<Page> => {
    const context = await openContext(browser, service.baseUrl, customer?.cookie, options);
    contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  };

  const openNarrow = (customer: TestCustomer | undefined, javaScriptEnabled: boolean) =>
    open(customer, { javaScriptEnabled, viewport: { width: NARROW_WIDTH, height: 640 } });

  describe(`by keyboard, ${NARROW_WIDTH} pixels wide`, () => {
    it('signs in, completes the profile, chooses a plan, buys credits, and signs out, without scripts', async () => {
      const page = await openNarrow(undefined, false);
      await visit(page, '/sign-in');
      await tabTo(page, page.getByLabel('E-mail address'));
      await page.keyboard.type(`${randomUUID()}@example.com`);
      await page.keyboard.press('Enter');
      await page.waitForURL('**/account/');
      await expectFits(page);

      await visit(page, '/account/settings/');
      await page.keyboard.press('Tab');
      expect(await page.textContent(':focus')).to.equal('Skip to content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.locator('main :focus').count()).to.equal(1);
      await tabTo(page, page.getByLabel('First name'));
      await page.keyboard.type('Ada');
      await tabTo(page, page.getByLabel('Language'));
      await page.keyboard.press('ArrowDown');
      await pressEnterOn(page, button(page, 'Save'));
      await expectOutcome(page, '/account/settings/?done=profile', 'Das Profil wurde gespeichert');
      expect(await page.getByLabel('Vorname').inputValue()).to.equal('Ada');
      expect(await page.locator('html').getAttribute('lang')).to.equal('de');
      await visit(page, '/account/settings/');
      await tabTo(page, page.getByLabel('Sprache'));
      await page.keyboard.press('ArrowUp');
      await pressEnterOn(page, button(page, 'Speichern'));
      await expectOutcome(page, '/account/settings/?done=profile', 'Profile saved');

      await visit(page, '/account/billing/');
      await pressEnterOn(page, button(page, 'Subscribe to Pro'));
      await expectOutcome(page, '/account/billing/?done=plan', 'Your plan is active');
      await tabTo(page, page.getByRole('radio', { name: '$50' }).first());
      await page.keyboard.press('ArrowDown');
      await pressEnterOn(page, button(page, 'Buy credits'));
      await expectOutcome(page, '/account/billing/?done=topup', 'The credits are on your balance');
      expect(await page.textContent('main')).to.include('4,893 credits');
      await tabTo(page, page.getByRole('checkbox'));
      await page.keyboard.press('Space');
      await pressEnterOn(page, button(page, 'Save'));
      await expectOutcome(page, '/account/billing/?done=auto-topup-on', 'Automatic top-ups are on');

      await visit(page, '/account/applications/');
      expect(await button(page, 'Copy the address').count()).to.equal(0);
      await visit(page, '/account/usage/');
      await pressEnterOn(page, button(page, 'Menu'));
      await pressEnterOn(page, button(page, 'Sign out'));
      await page.waitForURL('**/sign-in?done=signed-out');
      await expectFits(page);
    });

    it('creates and revokes a key, ends sessions, disconnects an application, and becomes an affiliate, with scripts', async () => {
      const customer = await service.createCustomer('pro');
      await (await registerClient(service.baseUrl, { client_name: 'Desk assistant' })).authorizeAndExchange(customer);
      const page = await openNarrow(customer, true);
      await visit(page, '/account/keys/');
      await tabTo(page, page.getByLabel('Key name'));
      const keyName = '<my> "key"';
      await page.keyboard.type(keyName);
      await page.keyboard.press('Enter');
      await page.locator('.notice .secret').waitFor();
      const key = (await page.textContent('.secret')) ?? '';
      expect(key).to.match(/^svc_[0-9a-f]{40}$/);
      const readUsage = () =>
        service.request('GET', '/api/usage/summary/', { headers: { authorization: `Bearer ${key}` } });
      expect((await readUsage()).body.credits.balance).to.equal(1_100);
      expect(await page.title()).to.match(/^API key created · /);
      expect(await page.locator('.notice:focus').count()).to.equal(1);
      expect(await button(page, 'Copy the API key').count()).to.equal(1);
      await expectFits(page);
      await pressEnterOn(page, page.getByRole('link', { name: `Revoke API key ${keyName}` }));
      await page.getByRole('heading', { name: `Revoke API key “${keyName}”?` }).waitFor();
      await expectFits(page);
      await pressEnterOn(page, button(page, 'Revoke'));
      await expectOutcome(page, '/account/keys/?done=revoked', 'The API key is revoked');
      expect((await readUsage()).status).to.equal(401);
      expect(await page.content()).to.not.include(key);

      await service.request('POST', '/authentication/dev/sign-in/', { body: { email: customer.email } });
      await visit(page, '/account/settings/');
      await pressEnterOn(page, page.getByRole('link', { name: 'Sign out of all other sessions' }));
      await page.getByRole('heading', { name: 'Sign out of all other sessions?' }).waitFor();
      await expectFits(page);
      await pressEnterOn(page, button(page, 'Sign out'));
      await expectOutcome(page, '/account/settings/?done=others-ended', 'All other sessions are signed out');

      await visit(page, '/account/applications/');
      await pressEnterOn(page, page.getByRole('link', { name: 'Disconnect Desk assistant' }));
      await page.getByRole('heading', { name: 'Disconnect Desk assistant?' }).waitFor();
      await pressEnterOn(page, button(page, 'Disconnect'));
      await expectOutcome(
        page,
        '/account/applications/?done=disconnected',
        'The application is disconnected and no longer has access',
      );

      await visit(page, '/account/affiliate/');
      await pressEnterOn(page, button(page, 'Become an affiliate'));
      await expectOutcome(page, '/account/affiliate/?done=enrolled', 'You are now an affiliate');
    });

    it('returns to the form after a sign-in when the session has ended, without scripts', async () => {
      const customer = await service.createCustomer('pro');
      const page = await openNarrow(customer, false);
      await visit(page, '/account/settings/');
      await customer.requestWithSession('POST', '/authentication/logout/');
      await tabTo(page, page.getByLabel('First name'));
      await page.keyboard.type('Ada');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/sign-in?problem=session-ended&return_to=**');
      expect(await page.textContent('.notice:focus')).to.include('Your session has ended and nothing was changed.');
      await expectFits(page);
      await tabTo(page, page.getByLabel('E-mail address'));
      await page.keyboard.type(customer.email);
      await page.keyboard.press('Enter');
      await page.waitForURL('**/account/settings/');
      expect(await page.getByLabel('First name').inputValue()).to.equal('Ada');
    });
  });

  it('copies the address of the MCP server and reports that', async () => {
    const page = await open(await service.createCustomer(null));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto('/account/applications/');
    await page.getByRole('button', { name: 'Copy the address' }).click();
    await page.getByText('Copied to the clipboard.').waitFor({ state: 'attached' });
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(`${service.baseUrl}/mcp`);
    await page.getByRole('button', { name: 'Copy the address' }).waitFor();
  });

  it('shows the result of a generation in the library and on its page without a reload', async () => {
    const customer = await service.createCustomer('pro');
    service.upstream.outcome = 'wait';
    const { uuid } = await customer.createImage('a slow lighthouse');
    const pages = [await open(customer), await open(customer)];
    for (const [index, path] of ['/account/library/', `/account/library/${uuid}/`].entries()) {
      await pages[index]?.goto(path);
      await pages[index]?.locator('span.tag').getByText('In progress', { exact: true }).waitFor();
      await pages[index]?.evaluate('window.isSamePage = true');
    }
    service.upstream.outcome = 'succeed';
    service.upstream.end('a slow lighthouse', 'succeeded');
    await customer.waitForEnd(uuid);
    for (const page of pages) {
      await page.locator('span.tag').getByText('Succeeded', { exact: true }).waitFor();
      await page.locator('.poster img, img[alt="a slow lighthouse"]').waitFor({ state: 'attached' });
      expect(await page.evaluate('window.isSamePage')).to.equal(true);
    }
    await pages[0]?.getByText('All generations on this page have ended.').waitFor();
  });
});
