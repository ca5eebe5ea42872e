import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const ACCOUNT_PAGES = [
  '',
  'library/',
  'usage/',
  'ledger/',
  'billing/',
  'keys/',
  'applications/',
  'affiliate/',
  'settings/',
];

describe('the script of the account pages', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('is the only script of each page, and comes from the service itself', async () => {
    const { visitor } = await createVisitor(service, 'pro');
    for (const name of ACCOUNT_PAGES) {
      const { status, headers, text } = await visitor.request(at(`/account/${name}`));
      expect(status, name).to.equal(200);
      expect(text.match(/<script[^>]*>/g), name).to.have.length(1);
      expect(text).to.match(/<script type="module" src="\/assets\/account\.js\?v=[0-9a-f]{16}"><\/script>/);
      expect(text).to.not.match(/<style| style=| on\w+=|javascript:/i);
      const policy = headers.get('content-security-policy');
      expect(policy).to.match(/^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; /);
      expect(policy).to.not.include('unsafe');
    }
  });

  it('is immutable at the address with its hash', async () => {
    const { visitor } = await createVisitor(service);
    const { text } = await visitor.request(at('/account/'));
    const [, path = ''] = /<script type="module" src="([^"]+)"/.exec(text) ?? [];
    const script = await new HttpBrowser().request(at(path));
    expect(script.headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
    expect(script.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect(path).to.include(createHash('sha256').update(script.text).digest('hex').slice(0, 16));
    const plain = await new HttpBrowser().request(at('/assets/account.js'));
    expect([plain.status, plain.headers.get('cache-control')]).to.deep.equal([200, 'no-cache']);
  });

  it('is not part of sign-in, consent, confirmation, error and MCP pages', async () => {
    const { visitor } = await createVisitor(service);
    const html = { headers: { accept: 'text/html' } };
    for (const [browser, path] of [
      [new HttpBrowser(), '/sign-in'],
      [new HttpBrowser(), '/mcp'],
      [visitor, '/authorize'],
      [visitor, '/account/sessions/end-others/'],
      [visitor, '/account/unknown/'],
      [visitor, '/admin/'],
    ] as const) {
      const { headers, text } = await browser.request(at(path), html);
      expect(text, path).to.include('<!doctype html>').and.to.not.include('<script');
      expect(headers.get('content-security-policy'), path).to.not.include('script-src');
    }
  });

  it('copies what has a copy button, which is hidden without it', async () => {
    const { visitor } = await createVisitor(service);
    const made = await sendAccountForm(service.baseUrl, visitor, '/account/keys/', { name: 'new' });
    await sendAccountForm(service.baseUrl, visitor, '/account/affiliate/');
    const pages = {
      'new-key': made.text,
      'referral-link': (await visitor.request(at('/account/affiliate/'))).text,
      'mcp-address': (await visitor.request(at('/account/applications/'))).text,
    };
    for (const [id, text] of Object.entries(pages)) {
      expect(text, id).to.match(new RegExp(`<code class="secret" id="${id}">[^<]+</code>`));
      expect(text, id).to.match(new RegExp(`<button type="button"[^>]* data-copy="${id}" hidden>Copy<`));
    }
  });

  it('updates generations in progress, and nothing else', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    for (const path of ['/account/', '/account/library/'])
      expect((await visitor.request(at(path))).text, path).to.not.include('data-live');
    const { uuid } = await customer.createImage();
    const library = await visitor.request(at('/account/library/'));
    expect(library.text).to.include(`id="generation-${uuid}" data-live="element"`);
    expect(library.text).to.include('1 generation on this page is in progress.');
    expect((await visitor.request(at(`/account/library/${uuid}/`))).text).to.include('data-live="element"');
    expect((await visitor.request(at('/account/'))).text).to.match(/id="in-flight" data-live="element">1 of 5/);
  });
});
