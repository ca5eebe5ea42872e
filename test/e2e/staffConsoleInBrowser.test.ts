import { expect } from 'chai';
import type { Browser, BrowserContext } from 'playwright-core';
import type { TestCustomer } from '../harness/apiClient.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('the staff console in a real browser without scripts', () => {
  const console = new StaffConsole();
  let service: TestService;
  let customer: TestCustomer;
  let account: string;
  let generation: string;
  let browser: Browser;
  let context: BrowserContext;
  before(async function () {
    browser = await launchBrowser(this);
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
    await console.open(service);
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
    account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    generation = `/admin/generations/${(await customer.createImage()).uuid}/`;
    await completeAllGenerations(service, customer);
    await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    context = await browser.newContext({ viewport: { width: 320, height: 800 }, javaScriptEnabled: false });
    const [name = '', value = ''] = console.member('admin').cookie.split('=');
    await context.addCookies([{ name, value, url: service.baseUrl }]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('an action is performed by keyboard only, and its outcome has the focus', async () => {
    const page = await context.newPage();
    await page.goto(`${service.baseUrl}${account}`);
    await page.getByRole('link', { name: 'Adjust credits' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Credits', { exact: true }).focus();
    for (const text of ['50', 'sorry', 'ticket T-1']) {
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByText('The credits are adjusted.').waitFor();
    expect(await page.title()).to.equal('Credits adjusted · genmeter');
    expect((await readAudit(service, customer)).map(({ action, reason }) => [action, reason])).to.deep.equal([
      ['credits.adjust', 'ticket T-1'],
    ]);
    await page.close();
  });

  it('every action is performed by keyboard only, and is recorded', async () => {
    const page = await context.newPage();
    const before = (await readAudit(service, customer)).length;
    const [{ uuid: key }] = (await customer.request('GET', '/api/keys/')).body.data;
    const [{ uuid: topup }] = await service.sql(
      'SELECT t.uuid FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1',
      [customer.email],
    );
    const actions: [path: string, action: string][] = [
      [`${generation}refund/`, 'generation.refund'],
      [`/admin/topups/${topup as string}/refund/`, 'topup.refund'],
      [`${account}sign-out/`, 'account.sign_out'],
      [`/admin/keys/${key as string}/revoke/`, 'key.revoke'],
      [`${account}suspend/`, 'account.suspend'],
      [`${account}reinstate/`, 'account.reinstate'],
    ];
    for (const [path] of actions) {
      await page.goto(`${service.baseUrl}${path}`);
      await page.getByLabel('Reason').focus();
      await page.keyboard.type('ticket T-4');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('.notice:focus').waitFor();
    }
    const recorded = (await readAudit(service, customer)).slice(before).map(({ action }) => action as string);
    expect(recorded).to.deep.equal(actions.map(([, action]) => action));
    await page.close();
  });

  it('no page is wider than a window of 320 pixels, and every field has a label', async () => {
    const page = await context.newPage();
    await page.goto(`${service.baseUrl}${generation}`);
    await page.getByLabel('Reason').fill('ticket T-2');
    await page.getByRole('button', { name: 'View prompt and output' }).click();
    await page.getByText('an image').first().waitFor();
    for (const path of [
      undefined,
      account,
      generation,
      `${account}adjust/`,
      `${account}suspend/`,
      `${account}ledger/`,
      `${account}generations/`,
      '/admin/accounts/?q=none@example.com',
      '/admin/audit/',
    ]) {
      if (path !== undefined) await page.goto(`${service.baseUrl}${path}`);
      const { width } = (await page.locator('main').boundingBox()) ?? { width: 0 };
      expect(width, path).to.be.within(200, 320);
      for (const part of await page.locator('main > *, main .card > *').all()) {
        const box = await part.boundingBox();
        if (box !== null) expect(box.x + box.width, `${path} ${await part.innerText()}`).to.be.at.most(320);
      }
      for (const field of await page.locator('main input:not([type=hidden])').all()) {
        const id = await field.getAttribute('id');
        expect(await page.locator(`label[for="${id}"]`).count(), `${path} ${id}`).to.equal(1);
      }
    }
    await page.close();
  });
});
