import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { REPORTS } from '../../shared/domain/reports/index.ts';
import { enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import {
  expectFits,
  findAxeViolations,
  loadAxe,
  NARROW_WIDTH,
  openContext,
  STYLE_RULES,
} from '../harness/browserPages.ts';
import { createPkce, type OAuthTestClient, registerClient } from '../harness/oauthClient.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { findAccountUuid, StaffConsole } from '../harness/staffConsole.ts';

const PAGE_BYTES_MAX = 100_000;
/** Both colors and both layouts. The styles of one do not depend on the other, so that two views cover all four. */
const VIEWS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: NARROW_WIDTH, height: 640 } },
] as const;
const PAGES = ['', 'library/', 'usage/', 'ledger/', 'billing/', 'keys/', 'webhooks/', 'webhooks/default/'];
const FURTHER_PAGES = ['applications/', 'affiliate/', 'settings/', 'security/', 'export/', 'delete/'];
const ACCOUNT_PATHS = [...PAGES, ...FURTHER_PAGES].map((name) => `/account/${name}`);

const ACTIONS = ['adjust', 'suspend', 'reinstate', 'sign-out', 'revoke-access'];

/** A visitor, a page, and what must be done on it before it is checked. */
type State = [TestCustomer | undefined, string, ((page: Page) => Promise<void>)?];

async function setView(page: Page, { colorScheme, viewport }: (typeof VIEWS)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
}

/** Visible elements, which the rules that do not depend on styles read. */
const countVisible = (page: Page): Promise<number> =>
  page.evaluate('[...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()).length');

/** Lists visible controls that the Tab key does not reach. */
const listUnreachable = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('a, button, input, select, textarea, summary')]
    .filter((one) => one.checkVisibility() && !one.disabled && (one.tabIndex < 0 || one.closest('[inert]') !== null))
    .map((one) => 'not reached by Tab: ' + one.outerHTML.slice(0, 200))`);

/**
 * Checks a state in every view, and adds the violations to those of each view. All rules apply to the first one, and to
 * another one that shows other elements: a narrow page of an area has its navigation in a drawer, which is opened once.
 * Otherwise only the rules about styles can find something else.
 */
async function checkState(page: Page, [, path, prepare]: State, found: string[][]): Promise<void> {
  await setView(page, VIEWS[0]);
  const response = await page.goto(path);
  expect((await response?.body())?.length, path).to.be.below(PAGE_BYTES_MAX);
  await prepare?.(page);
  await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true');
  // A page that reloads stays as it is.
  await page.evaluate('for (const one of document.querySelectorAll("[data-reload-to]")) one.dataset.reloadTo = "#"');
  const visible = await countVisible(page);
  for (const [index, view] of VIEWS.entries()) {
    await setView(page, view);
    await expectFits(page);
    if (path === '/account/' && index > 0) await page.getByRole('button', { name: 'Menu' }).click();
    const isSame = index > 0 && (await countVisible(page)) === visible;
    const violations = await findAxeViolations(page, isSame ? STYLE_RULES : undefined);
    violations.push(...(await listUnreachable(page)));
    found[index]?.push(...violations.map((violation) => `${path}: ${violation}`));
  }
}

const submit = (name: string, fields: Record<string, string>) => async (page: Page) => {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name, exact: true }).click();
  await page.locator('.notice[role]').waitFor();
};

describe('the accessibility of pages', () => {
  let browser: Browser;
  let billing: BillingService;
  /** An account without anything, one with a bit of everything, and one whose payment is not confirmed. */
  let fresh: TestCustomer;
  let busy: TestCustomer;
  let paying: TestCustomer;
  let client: OAuthTestClient;
  let confirmationPaths: string[];
  let limitPath: string;
  let generationPaths: string[];
  let webhookPaths: string[];
  let staffPaths: string[];
  const staff = new StaffConsole();

  before(async function () {
    this.timeout(300_000);
    browser = await launchBrowser(this);
    billing = await startBillingService({ workers: 1, env: { STAFF_EMAILS: staff.staffEmails } });
    const { service } = billing;
    const { affiliate, code } = await enrollAffiliate(service.baseUrl);
    busy = affiliate;
    [fresh, paying] = await Promise.all([billing.createCustomer(null), billing.createCustomer(null)]);
    await billing.subscribe(await signUpReferred(service.baseUrl, code), 'pro');
    await billing.subscribe(busy, 'pro');
    await billing.topUp(busy, 5_000);
    await paying.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    client = await registerClient(service.baseUrl, { client_name: 'Desk assistant' });
    await client.authorizeAndExchange(busy);
    await service.request('POST', '/authentication/dev/sign-in/', { body: { email: busy.email } });
    await createGenerations();
    await createWebhooks();
    await staff.open(service);
    staffPaths = await listStaffPaths();
  });
  after(async () => {
    await browser?.close();
    await billing?.stop();
  });

  /** Creates generations in each state, and collects the addresses of the pages that name a resource. */
  async function createGenerations(): Promise<void> {
    const { service } = billing;
    const video = await busy.createVideo('waves below a lighthouse');
    const image = await busy.createImage('a lighthouse '.repeat(30));
    await Promise.all([busy.waitForEnd(video.uuid), busy.waitForEnd(image.uuid)]);
    service.upstream.outcome = 'fail';
    const failed = await busy.createImage('a failure');
    await busy.waitForEnd(failed.uuid);
    service.upstream.outcome = 'wait';
    const queued = await busy.createImage('a slow picture');
    generationPaths = [video, image, failed, queued].map(({ uuid }) => `/account/library/${String(uuid)}/`);
    const [{ uuid: key }] = (await busy.request('GET', '/api/keys/')).body.data;
    const find = async (sql: string) => (await service.sql(sql, [busy.email]))[0]?.uuid as string;
    const session = await find(
      'SELECT s.uuid FROM sessions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 LIMIT 1',
    );
    const grant = await find(
      'SELECT g.uuid FROM oauth_grants g JOIN accounts a ON a.id = g.account_id WHERE a.email = $1 LIMIT 1',
    );
    limitPath = `/account/applications/${grant}/limit/`;
    confirmationPaths = [
      ...['', 'revoke/'].map((page) => `/account/keys/${String(key)}/${page}`),
      `/account/applications/${grant}/end/`,
      limitPath,
      `/account/sessions/${session}/end/`,
      '/account/sessions/end-others/',
      `${generationPaths[0] as string}delete/`,
    ];
  }

  /** Creates webhook endpoints in each state, and collects the addresses of their pages. */
  async function createWebhooks(): Promise<void> {
    const create = async (description: string) =>
      (
        await busy.request('POST', '/api/webhooks/create/', {
          body: { url: 'https://hooks.example.com/', description },
        })
      ).body.uuid as string;
    const [healthy, failing, disabled] = [await create(''), await create('Failing'), await create('Disabled')];
    for (const [uuid, columns] of [
      [failing, 'failing_since = now()'],
      [disabled, `disabled_at = now(), disabled_reason = 'gone'`],
    ] as const)
      await billing.service.sql(`UPDATE webhook_endpoints SET ${columns} WHERE uuid = $1`, [uuid]);
    await billing.service.sql('UPDATE accounts SET webhook_count = 2 WHERE email = $1', [busy.email]);
    await busy.request('POST', `/api/webhooks/${healthy}/test/`);
    await busy.request('POST', `/api/webhooks/${healthy}/rotate-secret/`);
    await billing.service.sql(
      `INSERT INTO outbox_events (account_id, type, subject, body, created_at, dispatched_at)
         SELECT account_id, 'generation.failed', status, '{}', now(), now() FROM webhook_endpoints,
                unnest(ARRAY['succeeded', 'failed']) status WHERE uuid = $1`,
      [healthy],
    );
    await billing.service.sql(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, status, attempts, last_attempt_at, last_status, last_error,
                                       delivered_at, created_at)
         SELECT w.id, e.id, e.subject, 1, now(), CASE WHEN e.subject = 'succeeded' THEN 204 END,
                CASE WHEN e.subject = 'failed' THEN 'private address' END,
                CASE WHEN e.subject = 'succeeded' THEN now() END, now()
           FROM webhook_endpoints w JOIN outbox_events e ON e.account_id = w.account_id
          WHERE w.uuid = $1 AND e.subject IN ('succeeded', 'failed')`,
      [healthy],
    );
    const paths = [healthy, failing, disabled].map((uuid) => `/account/webhooks/${uuid}/`);
    const confirmations = [
      `${paths[0] as string}rotate/`,
      `${paths[0] as string}delete/`,
      '/account/webhooks/default/rotate/',
    ];
    webhookPaths = [...paths, ...confirmations, `${paths[0] as string}?status=failed`];
  }

  /** Lists the pages of the staff console about an account that has everything, and the reports. */
  async function listStaffPaths(): Promise<string[]> {
    const account = `/admin/accounts/${await findAccountUuid(billing.service, busy)}/`;
    const generation = (generationPaths[0] as string).replace('/account/library/', '/admin/generations/');
    return [
      '/admin/',
      '/admin/accounts/',
      '/admin/accounts/?q=missing@example.com',
      '/admin/audit/',
      '/admin/incident/',
      '/admin/tasks/',
      '/admin/upstreams/',
      '/admin/upstreams/?upstream=fal:fake/image&prompt=a+lighthouse',
      '/admin/design/',
      ...['', 'ledger/', 'generations/', 'timeline/', ...ACTIONS.map((name) => `${name}/`)].map(
        (name) => `${account}${name}`,
      ),
      generation,
      `${generation}refund/`,
      '/admin/reports/',
      ...REPORTS.map(({ slug }) => `/admin/reports/${slug}/`),
      '/admin/reports/margin/?from=tomorrow',
    ];
  }

  const listStates = (): State[] => {
    return [
      ...['/sign-in', '/sign-in?problem=session-ended', '/sign-in?done=signed-out', '/mcp', '/nothing'].map(
        (path): [undefined, string] => [undefined, path],
      ),
      ...ACCOUNT_PATHS.map((path): [TestCustomer, string] => [fresh, path]),
      ...[...ACCOUNT_PATHS, ...confirmationPaths, ...generationPaths, ...webhookPaths].map(
        (path): [TestCustomer, string] => [busy, path],
      ),
      ...staffPaths.map((path): [TestCustomer, string] => [staff.member('admin'), path]),
      [
        staff.member('admin'),
        staffPaths.find((path) => path.startsWith('/admin/generations/')) as string,
        async (page) => {
          await page.getByLabel('Reason').fill('ticket T-2');
          await page.getByRole('button', { name: 'View prompt and output' }).click();
          await page.getByText('waves below a lighthouse').first().waitFor();
        },
      ],
      [busy, '/account/?checkout=canceled'],
      [busy, '/authorize'],
      [busy, client.authorizePath(createPkce().challenge)],
      [paying, '/account/?checkout=success'],
      [paying, '/account/?checkout=success&reloads=24'],
      [fresh, '/account/settings/', submit('Save', { 'First name': 'Ada' })],
      [fresh, '/account/notifications/', submit('Save', { 'The balance is low below (credits)': '5' })],
      [busy, '/account/notifications/', submit('Save', { 'The balance is low below (credits)': 'x' })],
      [undefined, `/unsubscribe/${'x'.repeat(20)}`],
      [fresh, '/account/keys/', submit('Create API key', { 'Key name': ' ' })],
      [fresh, '/account/webhooks/', submit('Add endpoint', { 'Endpoint URL': 'https://127.0.0.1/' })],
      [busy, '/account/webhooks/', submit('Add endpoint', { 'Endpoint URL': 'https://hooks.example.com/' })],
      [busy, client.authorizePath(createPkce().challenge), submit('Allow', { Credits: 'x' })],
      [busy, limitPath, submit('Save', { Credits: 'x' })],
      [busy, '/account/webhooks/default/', submit('Show secret', {})],
      [busy, '/account/billing/', submit('Buy credits', { 'Other amount in US dollars': '1' })],
    ];
  };

  /** Opens a window with the checker, which the policy of the pages does not allow to be loaded. */
  async function openPage(visitor: TestCustomer | undefined): Promise<Page> {
    const context = await openContext(browser, billing.service.baseUrl, visitor?.cookie, { bypassCSP: true });
    await loadAxe(context);
    return context.newPage();
  }

  it('is checked by rules that find a field without a label or beyond the Tab key, and a text without contrast', async () => {
    const page = await openPage(fresh);
    await page.goto('/account/keys/');
    await page.evaluate('document.querySelector("label[for=key-name]").remove()');
    await page.evaluate('document.querySelector("#key-name").removeAttribute("placeholder")');
    expect((await findAxeViolations(page)).join('\n')).to.match(/^label: [^\n]+key-name/);
    await page.evaluate('document.querySelector("h1").style.color = "#ccc"');
    expect((await findAxeViolations(page, STYLE_RULES)).join('\n')).to.match(/^color-contrast: [^\n]+<h1/);
    await page.evaluate('document.querySelector("#key-name").tabIndex = -1');
    expect((await listUnreachable(page)).join('\n')).to.match(/^not reached by Tab: [^\n]+key-name/);
    await page.context().close();
  });

  /**
   * Opens each state once and checks it in every view: colors and layout depend on the view, the document does not.
   * Each visitor has one window, beside those of the others: a process and a compiled checker of its own for each state
   * would take twice as long.
   * @returns the violations of each view.
   */
  async function checkStates(): Promise<string[][]> {
    const found: string[][] = VIEWS.map(() => []);
    const byVisitor = new Map<TestCustomer | undefined, State[]>();
    for (const state of listStates()) byVisitor.set(state[0], [...(byVisitor.get(state[0]) ?? []), state]);
    await Promise.all(
      [...byVisitor].map(async ([visitor, states]) => {
        const page = await openPage(visitor);
        for (const state of states) await checkState(page, state, found);
        await page.context().close();
      }),
    );
    return found;
  }

  let checked: Promise<string[][]> | undefined;
  for (const [index, view] of VIEWS.entries()) {
    it(`has no violations in any state, ${view.colorScheme}, ${view.viewport.width} pixels wide`, async function () {
      // The first one checks all views.
      this.timeout(1_000_000);
      checked ??= checkStates();
      expect((await checked)[index]?.join('\n')).to.equal('');
    });
  }
});
