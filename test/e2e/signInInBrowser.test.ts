import { expect } from 'chai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from '../harness/realBrowser.ts';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeApple, startFakeGoogle } from '../fakes/identity/providers.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

async function signIn(page: Page, provider = 'Google'): Promise<void> {
  await page.goto('/account/');
  await page.getByRole('link', { name: `Continue with ${provider}` }).click();
  await page.click('#yes');
  await page.waitForURL('**/account/');
}

describe('sign-in and account, in a real browser', () => {
  let browser: Browser;
  let service: TestService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let apple: Awaited<ReturnType<typeof startFakeApple>>;
  const contexts: BrowserContext[] = [];
  /** Errors that the browsers reported. */
  const complaints: string[] = [];

  before(async function () {
    browser = await launchBrowser(this);
    [google, apple] = await Promise.all([startFakeGoogle(), startFakeApple()]);
    service = await startTestService({ workers: 0, env: { ...google.env, ...apple.env } });
    await Promise.all([google.serve(service.baseUrl), apple.serve(service.baseUrl)]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await google?.fake.stop();
    await apple?.fake.stop();
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).to.deep.equal([]);
  });

  const window = async (): Promise<Page> => {
    const context = await browser.newContext({ baseURL: service.baseUrl });
    contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('console', (message) => {
      // The pages of the fake providers have no icon.
      if (message.type() === 'error' && message.location().url.startsWith(service.baseUrl))
        complaints.push(message.text());
    });
    return page;
  };

  const comes = (person: FakePerson) => {
    for (const { fake } of [google, apple]) {
      fake.person = person;
      fake.behavior = 'be asked';
    }
    return person;
  };

  for (const provider of ['Google', 'Apple']) {
    it(`signs in with ${provider} and signs out again`, async () => {
      const person = comes(createPerson({ firstName: 'Grace' }));
      const page = await window();
      await signIn(page, provider);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).to.equal('Hello, Grace');
      expect(await page.textContent('.who')).to.include(person.email);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL('**/sign-in?done=signed-out');
      await page.goto('/account/');
      expect(new URL(page.url()).pathname).to.equal('/sign-in');
    });
  }
});
