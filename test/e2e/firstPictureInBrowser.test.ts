import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Browser, Locator } from 'playwright-core';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { openContext } from '../harness/browserPages.ts';
import { launchBrowser } from '../harness/realBrowser.ts';

describe('a new user, in a real browser', () => {
  let browser: Browser;
  let billing: BillingService;
  before(async function () {
    browser = await launchBrowser(this);
    billing = await startBillingService({ workers: 1 });
  });
  after(async () => {
    await browser?.close();
    await billing?.stop();
  });

  it('gets from the front page to a picture with 7 clicks and a pasted request', async () => {
    const context = await openContext(browser, billing.service.baseUrl, undefined);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    let clicks = 0;
    const click = async (target: Locator) => {
      await target.click();
      clicks += 1;
    };
    await page.goto('/');
    await click(page.getByRole('link', { name: 'Choose Pro' }));
    await page.getByLabel('E-mail address').fill(`${randomUUID()}@example.com`);
    await click(page.getByRole('button', { name: 'Sign in' }));
    await click(page.getByRole('button', { name: 'Subscribe to Pro' }));
    await page.waitForURL(`${billing.stripe.url}/pay/**`);
    // The customer pays on the page of the processor, which is not part of the fake.
    const { success_url: successUrl } = billing.stripe.completeCheckout(page.url());
    clicks += 1;
    await page.goto(successUrl as string);
    await page.getByText('Your Pro plan is active').waitFor();
    await click(page.getByRole('link', { name: 'Create an API key' }));
    await page.getByLabel('Key name').fill('My laptop');
    await click(page.getByRole('button', { name: 'Create API key' }));
    await click(page.getByRole('button', { name: 'Copy the request for curl' }));
    const request = (await page.evaluate('navigator.clipboard.readText()')) as string;
    const { stdout } = await promisify(execFile)('sh', ['-c', request]);
    expect(JSON.parse(stdout)).to.include({ status: 'queued', prompt: 'A lighthouse at dusk' });
    expect(clicks).to.equal(7);

    await page.getByRole('main').getByRole('link', { name: 'library' }).click();
    const picture = page.locator('.gallery img');
    await picture.waitFor();
    await page.waitForFunction("document.querySelector('.gallery img').naturalWidth > 0");
    await context.close();
  });
});
