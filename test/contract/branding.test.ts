import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

const BRAND = {
  BRAND_NAME: 'Lumen & Söhne',
  BRAND_LOGO_URL: 'https://static.lumen.example/logo.svg?v=2',
  BRAND_COLOR: '#7a1f5c',
  SUPPORT_EMAIL: 'help@lumen.example',
  TERMS_URL: 'https://lumen.example/terms',
};

describe('pages with a configured brand', () => {
  const service = useTestService({ workers: 0, env: BRAND });

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('show its name, logo, support address and terms, and not the default name', async () => {
    const { visitor } = await createVisitor(service);
    const client = await registerClient(service.baseUrl);
    const html = { headers: { accept: 'text/html' } };
    for (const [browser, path] of [
      [visitor, '/account/'],
      [visitor, '/account/applications/'],
      [visitor, client.authorizePath(createPkce().challenge)],
      [new HttpBrowser(), '/sign-in'],
      [new HttpBrowser(), '/mcp'],
      [new HttpBrowser(), '/nothing'],
    ] as const) {
      const { headers, text } = await browser.request(at(path), html);
      expect(text, path).to.match(/<title>[^<]+ · Lumen &amp; Söhne<\/title>/);
      expect(text, path).to.match(
        /<a class="brand"[^>]*><img src="https:\/\/static\.lumen\.example\/logo\.svg\?v=2"[^]*<\/a>/,
      );
      expect(text, path).to.match(/<footer[^]*Lumen &amp; Söhne[^]*mailto:help@lumen\.example[^]*<\/footer>/);
      expect(text, path).to.include('href="https://lumen.example/terms"').and.to.not.include('genmeter');
      // The overview shows pictures of CDN_URL as well.
      expect(headers.get('content-security-policy'), path).to.match(
        /img-src 'self' data:[^;]* https:\/\/static\.lumen\.example;/,
      );
    }
  });

  it('include the API reference, which may load the logo', async () => {
    const { headers, text } = await new HttpBrowser().request(at('/api/docs/'));
    expect(text)
      .to.include('<title>API reference · Lumen &amp; Söhne</title>')
      .and.to.match(/<a class="brand" href="\/"><img src="https:\/\/static\.lumen\.example\/logo\.svg\?v=2"/);
    expect(headers.get('content-security-policy')).to.include("img-src 'self' data: https://static.lumen.example;");
    const styles = await new HttpBrowser().request(at('/assets/reference.css'));
    expect(styles.text).to.include('--accent:#7a1f5c');
  });

  it('use its color on light backgrounds, and a lighter one on dark backgrounds', async () => {
    const { text } = await new HttpBrowser().request(at('/sign-in'));
    const [, path = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
    const stylesheet = await new HttpBrowser().request(at(path));
    expect(stylesheet.text).to.include(':root{--accent:#7a1f5c;');
    expect(stylesheet.text).to.match(/prefers-color-scheme:dark\)\{:root\{--accent:#[0-9a-f]{6};/);
    expect(stylesheet.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
  });

  it('use its name for files and for the settings of assistants', async () => {
    const { visitor } = await createVisitor(service);
    const csv = await visitor.request(at('/account/ledger/export/'));
    expect(csv.headers.get('content-disposition')).to.equal('attachment; filename="lumen-sohne-ledger.csv"');
    expect((await visitor.request(at('/account/applications/'))).text).to.include('--transport http lumen-sohne ');
    const saved = await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { first_name: 'Ada' });
    expect((await visitor.request(at(saved.headers.get('location') ?? ''))).text).to.include(
      '<title>Profile saved · Lumen &amp; Söhne</title>',
    );
  });
});
