import { expect } from 'chai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createPerson } from '../fakes/identity/person.ts';
import { expectFits, expectOutcome, NARROW_WIDTH, openContext, pressEnterOn } from '../harness/browserPages.ts';
import { type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import { launchBrowser } from '../harness/realBrowser.ts';

const SETTINGS_PATH = '/account/settings/';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

const removal = (page: Page, title: string) =>
  page.getByRole('link', { name: `Remove ${title} as a sign-in method`, exact: true });

/** Submits the form that links Google, and decides at the provider. */
const linkGoogle = async (page: Page, decision: string): Promise<void> => {
  await pressEnterOn(page, button(page, 'Link Google'));
  await pressEnterOn(page, page.getByRole('link', { name: decision, exact: true }));
};

describe(`sign-in methods by keyboard, in a real browser ${NARROW_WIDTH} pixels wide`, () => {
  let browser: Browser;
  let providers: ProviderSignIn;
  const contexts: BrowserContext[] = [];
  before(async function () {
    browser = await launchBrowser(this);
    providers = await startProviderSignIn();
    providers.google.fake.behavior = 'be asked';
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });
  after(async () => {
    await browser?.close();
    await providers?.stop();
  });

  /** Opens the settings of a new account that GitHub signs in to. */
  const openSettings = async (javaScriptEnabled: boolean): Promise<Page> => {
    const viewport = { width: NARROW_WIDTH, height: 640 };
    const options = { javaScriptEnabled, viewport };
    const context = await openContext(browser, providers.service.baseUrl, undefined, options);
    contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(`/sign-in?return_to=${encodeURIComponent(SETTINGS_PATH)}`);
    await pressEnterOn(page, page.getByRole('link', { name: 'Continue with GitHub' }));
    await page.waitForURL(`**${SETTINGS_PATH}`);
    return page;
  };

  for (const javaScriptEnabled of [true, false]) {
    const scripts = javaScriptEnabled ? 'with scripts' : 'without scripts';

    it(`one is linked and another removed ${scripts}, and the title and the focus announce it`, async () => {
      const person = providers.setPerson(createPerson());
      const page = await openSettings(javaScriptEnabled);
      expect(await removal(page, 'GitHub').count()).to.equal(0);
      await expectFits(page);

      await linkGoogle(page, 'Sign in');
      await expectOutcome(page, `${SETTINGS_PATH}?done=identity-linked`, 'The sign-in method is linked');
      expect(await page.textContent('main')).to.include(`${person.email}, linked on`);
      expect(await button(page, 'Link Google').count()).to.equal(0);

      await pressEnterOn(page, removal(page, 'Google'));
      await page.getByRole('heading', { level: 1, name: 'Remove Google?' }).waitFor();
      expect(await page.title()).to.match(/^Remove Google\? · /);
      await expectFits(page);
      await pressEnterOn(page, button(page, 'Remove Google'));
      await expectOutcome(page, `${SETTINGS_PATH}?done=identity-removed`, 'The sign-in method is removed');
      expect(await removal(page, 'Google').count()).to.equal(0);
      expect(await button(page, 'Link Google').count()).to.equal(1);
    });

    it(`one that is refused at the provider is not linked ${scripts}, and the page says so`, async () => {
      providers.setPerson(createPerson());
      const page = await openSettings(javaScriptEnabled);
      await linkGoogle(page, 'Refuse');
      await expectOutcome(page, `${SETTINGS_PATH}?link_problem=denied&provider=google`, 'Error: Settings');
      expect(await page.textContent('.notice')).to.equal('Google was not linked because you canceled the sign-in.');
      expect(await button(page, 'Link Google').count()).to.equal(1);
    });
  }
});
