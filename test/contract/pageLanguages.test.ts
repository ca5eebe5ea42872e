import { expect } from 'chai';
import { buildUnsubscribeUrl } from '../../shared/domain/emails/unsubscribe.ts';
import { buildIdentityUndoUrl } from '../../shared/domain/signIn/identityUndo.ts';
import { LANGUAGE_NAMES, type Language, LANGUAGES } from '../../shared/spec/languages.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor, HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { PayoutFixture } from '../harness/payoutFixture.ts';
import { changeOwner } from '../harness/people.ts';
import { filterRoutes } from '../harness/routes.ts';
import { seedImages, setAllModelsOnline } from '../harness/seeds.ts';
import type { TestService } from '../harness/testService.ts';
import { RECEIVER_URL } from '../harness/webhookPages.ts';

/** Names that are the same in all languages. */
const NAMES = new Set(
  [
    // Programs and providers.
    'claude,chatgpt,cursor,claude code,codex,vs code,javascript,python,webhook,api,url,uuid,google,github,apple'.split(
      ',',
    ),
    // The service, its plans and models, the key of the customers of tests, and a guide.
    'genmeter,starter,lite,pro,studio,image model,video model,test,webhooks'.split(','),
    // Objects of the tests.
    'a fox,my client,my key,hooks.example.com,webhook.test'.split(','),
    Object.values(LANGUAGE_NAMES).map((name) => name.toLowerCase()),
  ].flat(),
);

/** Kana, Chinese characters and their punctuation. */
const OWN_CHARACTER = /[\u3000-\u30ff\u4e00-\u9fff\uff00-\uff60]/;

/** Lists the texts of a page in Japanese that contain none of its characters, without code and quoted English. */
function findEnglish(html: string): string[] {
  const shown = html
    .replaceAll(/<(head|code|pre|script|style)\b[^>]*>[^]*?<\/\1>/g, '')
    .replaceAll(/<(\w+)\b[^>]* lang="en"[^>]*>[^]*?<\/\1>/g, '');
  const attributes = [...shown.matchAll(/ (?:aria-label|alt|placeholder|title)="([^"]+)"/g)].map(([, text]) => text);
  const title = /<title>(.*?) · [^·<]+<\/title>/.exec(html)?.[1];
  return [title, ...attributes, ...shown.split(/<[^>]*>/)]
    .map((text = '') => text.replace(/^[\s:]+/, '').trim())
    .filter((text) => /[a-z]{2}/i.test(text) && !OWN_CHARACTER.test(text) && !isData(text));
}

/** Addresses, amounts, durations, parameters, gift codes, numbers of invoices, types of events, and names. */
const isData = (text: string) =>
  /@|^https:|^US\$[\d,.]+$|^\d+ ms$|^resolution: 1K|^(GIFT|FAKE)-|^[a-z]+\.[a-z_]+$/.test(text) ||
  NAMES.has(text.toLowerCase());

describe('pages in all languages', () => {
  const fixture = new PayoutFixture();
  let service: TestService;
  before(async () => {
    await fixture.start();
    ({ service } = fixture.billing);
    await setAllModelsOnline(service);
  });
  after(() => fixture.billing.stop());

  const at = (path: string) => new URL(path, service.baseUrl);
  const setLanguage = (language: Language, { email }: TestCustomer) =>
    changeOwner(service, email, 'language', language);

  /** Opens pages in Japanese: a text that is in one language is in all, which the compiler checks. */
  async function expectTranslated(visitor: HttpBrowser, paths: readonly string[]): Promise<void> {
    const english: string[] = [];
    for (const path of paths) {
      const { status, text } = await visitor.request(at(path), { headers: { accept: 'text/html' } });
      expect([status, /<html lang="([^"]+)">/.exec(text)?.[1]], path).to.deep.equal([200, 'ja']);
      english.push(...findEnglish(text).map((found) => `${path}: ${found}`));
    }
    expect(english).to.deep.equal([]);
  }

  async function expectAccountTranslated(customer: TestCustomer, visitor: HttpBrowser, paths: readonly string[]) {
    await setLanguage('ja', customer);
    await expectTranslated(visitor, paths);
  }

  const expectOpenTranslated = (paths: readonly string[]) => {
    const visitor = new HttpBrowser();
    visitor.languages = 'ja';
    return expectTranslated(visitor, paths);
  };

  const readAccount = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT id, uuid FROM accounts WHERE email = $1', [email]))[0] as { id: number; uuid: string };

  it('show no English in the account area', async () => {
    const { customer, visitor } = await createVisitor(service);
    await fixture.billing.subscribe(customer, 'studio');
    const paths = filterRoutes('member')
      .filter(({ method, path }) => method === 'GET' && path.startsWith('/account/') && !path.includes(':'))
      .map(({ path }) => path);
    const pages = [];
    for (const path of paths) {
      const { status, headers } = await visitor.request(at(path));
      if (status === 200 && headers.get('content-type')?.startsWith('text/html') === true) pages.push(path);
    }
    expect(pages).to.include.members(['/account/settings/', '/account/notifications/', '/account/export/']);
    await expectAccountTranslated(customer, visitor, pages);
  });

  it('are in the language of the account', async () => {
    const { customer, visitor } = await createVisitor(service);
    for (const language of LANGUAGES) {
      await setLanguage(language, customer);
      const { text } = await visitor.request(at('/account/'));
      expect(text).to.include(`<html lang="${language}">`);
    }
  });

  it('show no English about a generation, a key, an endpoint, a delivery and an application', async () => {
    const { customer, visitor } = await createVisitor(service);
    await fixture.billing.subscribe(customer, 'pro');
    const create = async (path: string, body: object) =>
      (await customer.requestWithSession('POST', path, { body })).body.uuid as string;
    service.upstream.outcome = 'wait';
    const generation = (await customer.createImage('a fox')).uuid as string;
    const key = await create('/api/keys/create/', { name: 'my key' });
    const endpoint = await create('/api/webhooks/create/', { url: RECEIVER_URL });
    const delivery = await create(`/api/webhooks/${endpoint}/test/`, {});
    await service.sql("UPDATE webhook_endpoints SET failing_since = now() WHERE url <> ''");
    const client = await registerClient(service.baseUrl, { client_name: 'my client' });
    const { verifier, challenge } = createPkce();
    await client.exchangeCode((await client.authorize(customer, challenge)).get('code') ?? '', verifier);
    const [{ uuid: grant }] = await service.sql('SELECT uuid FROM oauth_grants');
    const uuids = { library: generation, keys: key, webhooks: endpoint, applications: grant as string };
    const paths = filterRoutes('member').flatMap(({ method, path }) => {
      const section = path.split('/')[2] as keyof typeof uuids;
      if (method !== 'GET' || uuids[section] === undefined || !path.includes(':')) return [];
      return [path.replace(':uuid', uuids[section]).replace(':delivery', delivery)];
    });
    expect(paths).to.have.length(11);
    await expectAccountTranslated(customer, visitor, paths);
  });

  it('show no English about a plan, payments, commissions and usage, and to an account without any', async () => {
    const { billing } = fixture;
    const { affiliate: busy, refer } = await fixture.createAffiliate();
    await billing.subscribe(busy, 'pro');
    await billing.topUp(busy, 5_000);
    await billing.subscribe(await refer(), 'lite');
    await seedImages(service, busy, 3);
    await service.sql("UPDATE accounts SET auto_topup_problem = 'declined' WHERE email = $1", [busy.email]);
    const [fresh, paying] = [await billing.createCustomer(null), await billing.createCustomer(null)];
    await paying.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    const pages = ['', 'usage/', 'usage/?days=7', 'ledger/', 'ledger/?page=9', 'billing/', 'affiliate/'];
    const states = ['?checkout=canceled', '?checkout=success', '?checkout=success&reloads=24'];
    for (const [customer, shown] of [
      [busy, [...pages, ...states]],
      [fresh, pages],
      [paying, states],
    ] as const) {
      const paths = shown.map((page) => `/account/${page}`);
      await expectAccountTranslated(customer, createBrowserFor(customer), paths);
    }
  });

  it('describe every event of the security log', async () => {
    const { customer, visitor } = await createVisitor(service);
    const { id } = await readAccount(customer);
    const counts = { identities: 1, sessions: 2, keys: 3, grants: 4, webhooks: 5 };
    const key = { name: 'CI', prefix: 'svc_x', changed: 'name, credit_limit, expires_at, allowed_models, allowed_ips' };
    const events: [event: string, details: object][] = [
      ['signed_in', {}],
      ...[
        'signed_in',
        'sign_in_failed',
        'identity_linked',
        'identity_removed',
        'identity_restored',
        'session_ended',
      ].map((event) => [event, { provider: 'google', ...counts }] as [string, object]),
      ['signed_out', {}],
      ['session_ended', { sessions: 2 }],
      ['session_ended', { ended_browser: '' }],
      ...['key_created', 'key_changed', 'key_revoked'].map((event) => [event, key] as [string, object]),
      ['application_connected', { application: 'App' }],
      ...['', 'application', 'token_reuse'].map(
        (reason) => ['application_disconnected', { application: 'App', reason }] as [string, object],
      ),
      ['application_limit_changed', { application: 'App' }],
      ['application_limit_changed', { application: 'App', credits: 5, period: 'day' }],
      ['access_revoked', counts],
      ...['webhook_created', 'webhook_url_changed', 'webhook_deleted', 'webhook_secret_rotated'].map(
        (event) => [event, { host: 'example.com' }] as [string, object],
      ),
      ['webhook_secret_rotated', {}],
      ['data_exported', {}],
      ['deletion_requested', counts],
      ['deletion_undone', {}],
    ];
    for (const [event, details] of events)
      await service.sql(
        `INSERT INTO security_events (account_id, event, network, user_agent, details, created_at)
         VALUES ($1, $2, '', '', $3, now())`,
        [id, event, JSON.stringify(details)],
      );
    const { text } = await visitor.request(at('/account/security/'));
    const older = /\?before=\d+/.exec(text)?.[0] ?? '';
    await expectAccountTranslated(customer, visitor, ['/account/security/', `/account/security/${older}`]);
  });

  it('ask before a session ends, and before and after the account is deleted', async () => {
    const { customer, visitor } = await createVisitor(service, 'studio');
    await new HttpBrowser().submitForm(at('/sign-in'), { email: customer.email });
    const { text } = await visitor.request(at('/account/settings/'));
    const end = /\/account\/sessions\/[\w-]{36}\/end\//.exec(text)?.[0] ?? '';
    await expectAccountTranslated(customer, visitor, [end, '/account/sessions/end-others/']);
    await sendAccountForm(service.baseUrl, visitor, '/account/delete/', { email: customer.email });
    await expectAccountTranslated(customer, visitor, ['/account/delete/', '/account/export/']);
  });

  it('show no English to people who are not signed in', async () => {
    const customer = await service.createCustomer();
    const { uuid } = await readAccount(customer);
    const time = new Date(Date.now() + 60_000).toISOString();
    const { email } = customer;
    const unsubscribe = new URL(buildUnsubscribeUrl({ accountUuid: uuid, email, kind: 'credits_low' })).pathname;
    const identity = { uuid, provider: 'google', issuer: '', subject: '', email, staff_since: null };
    const times = { created_at: time, signed_in_at: time, undo_until: time };
    const { pathname } = new URL(buildIdentityUndoUrl({ person_uuid: uuid, ...identity, ...times }));
    await expectOpenTranslated([unsubscribe, pathname, '/sign-in', '/', '/pricing/', '/mcp']);
    await expectOpenTranslated(['/docs/', '/docs/?q=xyzzy', '/docs/webhooks/']);
    const browser = new HttpBrowser();
    browser.languages = 'ja';
    expect(findEnglish((await browser.submitForm(at(unsubscribe), {})).text)).to.deep.equal([]);
  });
});
