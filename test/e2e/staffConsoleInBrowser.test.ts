import { expect } from 'chai';
import type { Browser, BrowserContext } from 'playwright-core';
import { openContext, pressEnterOn, tabTo } from '../harness/browserPages.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit, StaffConsole } from '../harness/staffConsole.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

describe('the staff console in a real browser without scripts', () => {
  const console = new StaffConsole();
  let service: TestService;
  let browser: Browser;
  let context: BrowserContext;
  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
    await console.open(service);
    await setAllModelsOnline(service);
    context = await browser.newContext({ viewport: { width: 320, height: 800 }, javaScriptEnabled: false });
    const [name = '', value = ''] = console.member('admin').cookie.split('=');
    await context.addCookies([{ name, value, url: service.baseUrl }]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('a stuck generation is requeued and all access is revoked from their pages, with the Tab and Enter keys', async () => {
    const owner = await service.createCustomer('pro');
    const ownerPath = `/admin/accounts/${await findAccountUuid(service, owner)}/`;
    const stuckPath = `/admin/generations/${(await owner.createImage()).uuid}/`;
    const page = await context.newPage();
    const perform = async (path: string, link: string, button: string) => {
      await page.goto(`${service.baseUrl}${path}`);
      await pressEnterOn(page, page.getByRole('link', { name: link, exact: true }));
      await tabTo(page, page.getByLabel('Reason'));
      await page.keyboard.type('ticket T-5');
      await pressEnterOn(page, page.getByRole('button', { name: button, exact: true }));
      await page.locator('.notice:focus').waitFor();
      return [await page.title(), await page.textContent('.notice')];
    };
    const requeue = () => perform(stuckPath, 'Requeue', 'Requeue generation');
    expect(await requeue()).to.deep.equal([
      'Error: Requeue this generation? · genmeter',
      'This generation is not stuck. It has ended, or a worker has processed it in the last 120 seconds.',
    ]);
    await service.moveClockTo(new Date(service.now.getTime() + 180_000));
    expect(await requeue()).to.deep.equal(['The generation is due now · genmeter', 'The generation is due now.']);
    await service.moveClockTo(new Date());
    expect(await perform(ownerPath, 'Revoke all access', 'Revoke all access')).to.deep.equal([
      'All sessions, API keys, applications and open invitations of the account are revoked · genmeter',
      'All sessions, API keys, applications and open invitations of the account are revoked.',
    ]);
    expect((await owner.request('GET', '/api/keys/')).status).to.equal(401);
    expect((await readAudit(service, owner)).map(({ action, reason }) => [action, reason])).to.deep.equal([
      ['generation.requeue', 'ticket T-5'],
      ['account.revoke_access', 'ticket T-5'],
    ]);
    await page.close();
  });
});

describe('the staff dashboard and the queue board, in a real browser', () => {
  const BOARD = '/admin/queues';
  const console = new StaffConsole();
  let service: TestService;
  let browser: Browser;
  let context: BrowserContext;
  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ env: { STAFF_EMAILS: console.staffEmails } });
    await console.open(service);
    const customer = await service.createCustomer();
    await customer.waitForEnd((await customer.createImage()).uuid);
    context = await openContext(browser, service.baseUrl, console.member('admin').cookie, {
      viewport: { width: 1280, height: 900 },
    });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const open = async (path: string) => {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      if (origin !== service.baseUrl && origin !== 'null') complaints.push(`asked ${origin}`);
    });
    await page.goto(`${service.baseUrl}${path}`);
    return { page, complaints };
  };

  it('the queue board works under its policy and applies changes', async () => {
    const { page, complaints } = await open(BOARD);
    await page.getByText('dispatch').first().waitFor();
    await page.goto(`${service.baseUrl}${BOARD}/queue/dispatch?status=completed`);
    await page.getByText('generation.dispatch').first().waitFor();
    const change = (name: string) =>
      page.evaluate(
        `fetch('${BOARD}/api/queues/media/${name}', { method: 'PUT' }).then((response) => response.status)`,
      );
    expect([await change('pause'), await change('resume')]).to.deep.equal([200, 200]);
    expect(complaints).to.deep.equal([]);
  });

  it('the dashboard links to the queue board, which links back', async () => {
    const { page, complaints } = await open('/admin/');
    expect(await page.locator('svg.chart, .plot').count()).to.equal(9);
    await page.getByRole('link', { name: 'Queues and jobs' }).click();
    await page.getByText('dispatch').first().waitFor();
    await page.getByRole('link', { name: 'Back to the admin dashboard' }).click();
    await page.getByRole('heading', { name: 'Signups' }).waitFor();
    await eventually('nothing is complained about', () => complaints.length === 0, 1_000);
  });
});
