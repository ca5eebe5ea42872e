import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { NARROW_WIDTH } from '../harness/browserPages.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

describe('the API reference, in a real browser', () => {
  let service: TestService;
  let browser: Browser;
  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ workers: 0 });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('follows the color scheme of the browser', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' });
    await page.goto(`${service.baseUrl}/api/docs/`);
    await page.getByText('/api/generations/create/').first().waitFor();
    const brightness = async (part: string, property: string) => {
      const colour = await page.evaluate(
        `getComputedStyle(document.querySelector(${JSON.stringify(part)})).getPropertyValue('${property}')`,
      );
      const [red = 0, green = 0, blue = 0] = (String(colour).match(/[\d.]+/g) ?? []).map(Number);
      return (red + green + blue) / 3;
    };
    expect(await brightness('.swagger-ui', 'background-color')).to.be.below(60);
    expect(await brightness('.swagger-ui .info .title', 'color')).to.be.above(180);
    expect(await brightness('.swagger-ui .opblock-summary-path', 'color')).to.be.above(180);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.locator('html:not(.dark-mode)').waitFor();
    expect(await brightness('.swagger-ui .info .title', 'color')).to.be.below(90);
  });

  it('leads back to the guides and the account from its header, also on a phone', async () => {
    const page = await browser.newPage({ viewport: { width: NARROW_WIDTH, height: 800 } });
    for (const [name, path] of [
      ['genmeter', '/'],
      ['Guides', '/docs/'],
      ['Your account', '/sign-in'],
    ] as const) {
      await page.goto(`${service.baseUrl}/api/docs/`);
      await page.getByText('/api/generations/create/').first().waitFor();
      await page.getByRole('banner').getByRole('link', { name, exact: true }).click();
      await page.waitForURL(({ pathname }) => pathname === path);
    }
  });

  it('renders in a browser without external requests and without policy violations', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const elsewhere: string[] = [];
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(service.baseUrl) && !request.url().startsWith('data:')) {
        elsewhere.push(request.url());
      }
    });
    await page.goto(`${service.baseUrl}/api/docs/`);
    await page.getByText('/api/generations/create/').first().click();
    await page.getByText('parallel_limit_reached').first().waitFor();
    // Executes a request without credentials.
    await page.locator('#operations-Service-getHealth').click();
    await page.locator('#operations-Service-getHealth').getByText('Try it out').click();
    await page.locator('#operations-Service-getHealth').getByText('Execute', { exact: true }).click();
    await page.locator('#operations-Service-getHealth .live-responses-table').getByText('"2.0.0"').first().waitFor();
    expect({ complaints, elsewhere }).to.deep.equal({ complaints: [], elsewhere: [] });
  });
});
