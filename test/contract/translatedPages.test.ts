import { expect } from 'chai';
import { LANGUAGES } from '../../shared/spec/languages.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { PayoutFixture } from '../harness/payoutFixture.ts';
import { seedImages } from '../harness/seeds.ts';

const PAGES = ['', 'usage/', 'usage/?days=7', 'ledger/', 'ledger/?page=9', 'billing/', 'affiliate/'];
const STATES = ['?checkout=canceled', '?checkout=success', '?checkout=success&reloads=24'];

/** Elements whose text is compared. Names of models are data. */
const ELEMENTS = /<(title|h[1-3]|p|th|dt|dd|legend|label|button)\b[^>]*>([^]*?)<\/\1>/g;
const ENGLISH_PARTS = /<(span|li|p|a)\b[^>]* lang="en"[^>]*>[^]*?<\/\1>|<code[^]*?<\/code>/g;
const DATA = /^(Image|Video) model$/;

/** Lists the texts of a page that have two words or more. Shorter ones may be the same in several languages. */
function listTexts(html: string): string[] {
  const texts = [...html.replaceAll(ENGLISH_PARTS, '').matchAll(ELEMENTS)].map(([, , inner = '']) =>
    inner
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const labels = [...html.matchAll(/ (?:aria-label|alt|placeholder)="([^"]+)"/g)].map(([, label = '']) => label);
  return [...texts, ...labels].filter((text) => /[a-z]{2} [a-z]{2}/i.test(text) && !DATA.test(text));
}

describe('the pages of the account area', () => {
  const fixture = new PayoutFixture();
  /** An account with a bit of everything, one without anything, and one whose payment is not confirmed. */
  let busy: TestCustomer;
  let fresh: TestCustomer;
  let paying: TestCustomer;
  before(async () => {
    await fixture.start();
    const { billing } = fixture;
    const { affiliate, refer } = await fixture.createAffiliate();
    busy = affiliate;
    await billing.subscribe(busy, 'pro');
    await billing.topUp(busy, 5_000);
    await billing.subscribe(await refer(), 'lite');
    await seedImages(billing.service, busy, 3);
    await billing.service.sql("UPDATE accounts SET auto_topup_problem = 'declined' WHERE email = $1", [busy.email]);
    [fresh, paying] = [await billing.createCustomer(null), await billing.createCustomer(null)];
    await paying.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
  });
  after(() => fixture.billing.stop());

  async function read(customer: TestCustomer, path: string): Promise<string> {
    const { status, text } = await createBrowserFor(customer).request(`${fixture.billing.service.baseUrl}${path}`);
    expect(status, path).to.equal(200);
    return text;
  }

  for (const language of LANGUAGES.filter((other) => other !== 'en'))
    it(`are in the language of the account: ${language}`, async () => {
      const visits: [TestCustomer, string][] = [
        ...PAGES.flatMap((page): [TestCustomer, string][] => [
          [busy, page],
          [fresh, page],
        ]),
        ...STATES.flatMap((state): [TestCustomer, string][] => [
          [busy, state],
          [paying, state],
        ]),
      ];
      const translate = async (to: string) => {
        for (const customer of [busy, fresh, paying])
          await customer.requestWithSession('PATCH', '/authentication/me/', { body: { language: to } });
        return Promise.all(visits.map(([customer, page]) => read(customer, `/account/${page}`)));
      };
      const [english, translated] = [await translate('en'), await translate(language)];
      for (const [index, html] of translated.entries()) {
        const page = visits[index]?.[1];
        expect(html, page).to.include(`<html lang="${language}">`);
        const same = new Set(listTexts(english[index] ?? ''));
        expect(same.size, page).to.be.above(2);
        expect(
          listTexts(html).filter((text) => same.has(text)),
          page,
        ).to.deep.equal([]);
      }
    });
});
