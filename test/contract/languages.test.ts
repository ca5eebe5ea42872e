import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { startProviderSignIn } from '../harness/providerSignIn.ts';
import { useStaffService } from '../harness/staffConsole.ts';

const getPageLanguage = (html: string) => /<html lang="([^"]+)">/.exec(html)?.[1];

describe('the language of pages', () => {
  const { console, service } = useStaffService();

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('is, before sign-in, the one that the browser prefers among those of the pages', async () => {
    const visitor = new HttpBrowser();
    const cases: [header: string, language: string][] = [
      ['*', 'en'],
      ['pt-BR,pt;q=0.9', 'en'],
      ['pt-BR,pt;q=0.9,fr;q=0.5,en;q=0.4', 'fr'],
      ['de-AT,de;q=0.9,en;q=0.8', 'de'],
      ['zh-TW,en;q=0.5', 'zh-CN'],
      ['en-US,en;q=0.9,ja;q=0.8', 'en'],
    ];
    for (const [header, language] of cases) {
      visitor.languages = header;
      for (const path of ['/sign-in', '/no/such/page']) {
        const { headers, text } = await visitor.request(at(path), { headers: { accept: 'text/html' } });
        expect([getPageLanguage(text), headers.get('vary')], `${header} ${path}`).to.deep.equal([
          language,
          'accept-language',
        ]);
      }
    }
  });

  it('is that of the account afterwards, which the first sign-in takes from the browser', async () => {
    const visitor = new HttpBrowser();
    visitor.languages = 'de-AT,en;q=0.5';
    await visitor.submitForm(at('/sign-in'), { email: 'franz@example.com' });
    const { user } = JSON.parse((await visitor.request(at('/authentication/me/'))).text);
    expect(user.language).to.equal('de');
    visitor.languages = 'ja';
    const { text } = await visitor.request(at('/account/'));
    expect(getPageLanguage(text)).to.equal('de');
    expect(text)
      .to.match(/aria-current="page"><svg[^]*?<\/svg>Übersicht<\/a>/)
      .and.to.include('>Abmelden</button>');
    const { headers } = await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { language: 'zh-TW' });
    expect(headers.get('location')).to.include('done=profile');
    expect(getPageLanguage((await visitor.request(at('/account/'))).text)).to.equal('zh-CN');
  });

  it('is that of errors, with the detail in English', async () => {
    const { customer, visitor } = await createVisitor(service);
    await customer.requestWithSession('PATCH', '/authentication/me/', { body: { language: 'fr' } });
    const { status, text } = await visitor.request(at('/account/library/x/'));
    expect([status, getPageLanguage(text)]).to.deep.equal([404, 'fr']);
    expect(text)
      .to.match(/<title>Erreur : /)
      .and.to.match(/>Rien n’a été trouvé ici\. <span lang="en">Not found\./);
    visitor.languages = 'fr';
    const missing = await visitor.request(at('/no/such/page'), { headers: { accept: 'text/html' } });
    expect(missing.text).to.match(/<h1>Page introuvable<\/h1><p>[^<]+<span lang="en">There is no page at/);
    const { body } = await customer.requestWithSession('GET', '/api/generations/x/');
    expect(body.detail).to.match(/^Not found/);
  });

  it('is English in the content of guides, whose frame is in that of the visitor', async () => {
    const visitor = new HttpBrowser();
    visitor.languages = 'es';
    const { text } = await visitor.request(at('/docs/'));
    expect(getPageLanguage(text)).to.equal('es');
    expect(text).to.include('<li class="card" lang="en">').and.to.include('>Precios</a>');
    expect((await visitor.request(at('/docs/credits/'))).text).to.include('<article lang="en">');
  });

  it('is English on the pages of staff', async () => {
    await service.sql("WITH person AS (UPDATE people SET language = 'de') UPDATE accounts SET language = 'de'");
    expect(getPageLanguage((await console.visit('/admin/reports/')).text)).to.equal('en');
    expect(getPageLanguage((await console.visit('/account/')).text)).to.equal('de');
  });
});

describe('the first sign-in with a provider', () => {
  it('sets the language of the account', async () => {
    const providers = await startProviderSignIn();
    try {
      for (const [provider, languages, language] of [
        ['google', 'es-MX,es;q=0.9', 'es'],
        ['apple', 'ja', 'ja'],
      ] as const) {
        providers.setPerson(createPerson({}));
        const visitor = new HttpBrowser();
        visitor.languages = languages;
        await providers.signIn(provider, visitor);
        expect(await providers.readUser(visitor)).to.include({ language });
      }
    } finally {
      await providers.stop();
    }
  });
});
