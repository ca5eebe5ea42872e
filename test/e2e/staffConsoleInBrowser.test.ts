import { expect } from 'chai';
import type { Browser, BrowserContext } from 'playwright-core';
import type { TestCustomer } from '../harness/apiClient.ts';
import { pressEnterOn, tabTo } from '../harness/browserPages.ts';
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
    await pressEnterOn(page, page.getByRole('button', { name: 'Add 50 credits' }));
    await page.getByText('The credits are adjusted.').waitFor();
    expect(await page.title()).to.equal('The credits are adjusted · genmeter');
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
    const actions: [path: string, action: string, title: string][] = [
      [`${generation}refund/`, 'generation.refund', 'The credits of the generation are refunded'],
      [`/admin/topups/${topup as string}/refund/`, 'topup.refund', 'The refund is recorded'],
      [`${account}sign-out/`, 'account.sign_out', 'The account is signed out everywhere'],
      [`/admin/keys/${key as string}/revoke/`, 'key.revoke', 'The API key is revoked'],
      [`${account}suspend/`, 'account.suspend', 'The account is suspended'],
      [`${account}reinstate/`, 'account.reinstate', 'The account is reinstated'],
    ];
    for (const [path, , title] of actions) {
      await page.goto(`${service.baseUrl}${path}`);
      await page.getByLabel('Reason').focus();
      await page.keyboard.type('ticket T-4');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('.notice:focus').waitFor();
      expect(await page.title()).to.equal(`${title} · genmeter`);
    }
    const recorded = (await readAudit(service, customer)).slice(before).map(({ action }) => action as string);
    expect(recorded).to.deep.equal(actions.map(([, action]) => action));
    await page.close();
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
