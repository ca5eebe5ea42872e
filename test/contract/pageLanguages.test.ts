import { expect } from 'chai';
import { buildUnsubscribeUrl } from '../../shared/domain/emails/unsubscribe.ts';
import { buildIdentityUndoUrl } from '../../shared/domain/signIn/identityUndo.ts';
import { LANGUAGE_NAMES, type Language, LANGUAGES } from '../../shared/spec/languages.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { filterRoutes } from '../harness/routes.ts';
import { changeOwner } from '../harness/people.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/** Names that are the same in all languages. */
const NAMES = new Set(
  [
    // Programs and providers.
    'claude,chatgpt,cursor,claude code,codex,vs code,javascript,python,webhook,api,google,github,apple'.split(','),
    // The service, its plans and models, the key of the customers of tests, and a guide.
    'genmeter,starter,lite,pro,studio,image model,video model,test,webhooks'.split(','),
    Object.values(LANGUAGE_NAMES).map((name) => name.toLowerCase()),
  ].flat(),
);

/** Kana, Chinese characters and their punctuation. */
const OWN_CHARACTER = /[\u3000-\u30ff\u4e00-\u9fff\uff00-\uff60]/;

/** Lists the texts of a page in Japanese or Chinese that contain none of its characters, without code and quoted English. */
function findEnglish(html: string): string[] {
  const shown = html
    .replaceAll(/<(head|code|pre|script|style)\b[^>]*>[^]*?<\/\1>/g, '')
    .replaceAll(/<(\w+)\b[^>]* lang="en"[^>]*>[^]*?<\/\1>/g, '');
  const attributes = [...shown.matchAll(/ (?:aria-label|alt|placeholder|title)="([^"]+)"/g)].map(([, text]) => text);
  const title = /<title>(.*?) · [^·<]+<\/title>/.exec(html)?.[1];
  return [title, ...attributes, ...shown.split(/<[^>]*>/)]
    .map((text = '') => text.trim())
    .filter((text) => /[a-z]{2}/i.test(text) && !OWN_CHARACTER.test(text) && !isData(text));
}

/** Addresses, amounts, gift codes, types of events, and names. */
const isData = (text: string) =>
  /@|^https:|^US\$[\d,.]+$|^GIFT-|^[a-z]+\.[a-z_]+$/.test(text) || NAMES.has(text.toLowerCase());

describe('pages in all languages', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  after(() => service.stop());

  const at = (path: string) => new URL(path, service.baseUrl);
  const setLanguage = (language: Language, { email }: TestCustomer) =>
    changeOwner(service, email, 'language', language);

  /** Opens pages in each language. @param choose chooses the language of the visitor. */
  async function expectTranslated(
    visitor: HttpBrowser,
    paths: readonly string[],
    choose: (language: Language) => unknown,
  ): Promise<void> {
    const english: string[] = [];
    for (const language of LANGUAGES) {
      await choose(language);
      for (const path of paths) {
        const { status, text } = await visitor.request(at(path), { headers: { accept: 'text/html' } });
        expect([status, /<html lang="([^"]+)">/.exec(text)?.[1]], `${language} ${path}`).to.deep.equal([200, language]);
        if (language === 'ja' || language === 'zh-CN')
          english.push(...findEnglish(text).map((found) => `${language} ${path}: ${found}`));
      }
    }
    expect(english).to.deep.equal([]);
  }

  const expectAccountTranslated = (customer: TestCustomer, visitor: HttpBrowser, paths: readonly string[]) =>
    expectTranslated(visitor, paths, (language) => setLanguage(language, customer));

  const expectOpenTranslated = (paths: readonly string[]) => {
    const visitor = new HttpBrowser();
    return expectTranslated(visitor, paths, (language) => {
      visitor.languages = language;
    });
  };

  const readAccount = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT id, uuid FROM accounts WHERE email = $1', [email]))[0] as { id: number; uuid: string };

  it('show no English in the account area', async () => {
    const { customer, visitor } = await createVisitor(service, 'studio');
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
    const unsubscribe = new URL(buildUnsubscribeUrl({ accountUuid: uuid, kind: 'credits_low' })).pathname;
    const identity = { uuid, provider: 'google', issuer: '', subject: '', email: customer.email, staff_since: null };
    const times = { created_at: time, signed_in_at: time, undo_until: time };
    const { pathname } = new URL(buildIdentityUndoUrl({ person_uuid: uuid, ...identity, ...times }));
    await expectOpenTranslated([unsubscribe, pathname, '/sign-in', '/', '/pricing/', '/mcp']);
    await expectOpenTranslated(['/docs/', '/docs/?q=xyzzy', '/docs/webhooks/']);
    const browser = new HttpBrowser();
    browser.languages = 'ja';
    expect(findEnglish((await browser.submitForm(at(unsubscribe), {})).text)).to.deep.equal([]);
  });
});
