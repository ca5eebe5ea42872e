import { expect } from 'chai';
import { LANGUAGES } from '../../shared/spec/languages.ts';
import { createVisitor } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import type { HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { filterRoutes } from '../harness/routes.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import { RECEIVER_URL } from '../harness/webhookPages.ts';

/** Pages whose texts are checked, by the beginning of their path. */
const SECTIONS = ['/account/library/', '/account/keys/', '/account/webhooks/', '/account/applications/'];

/** Words that a language has in common with English. */
const COMMON_WORDS = [
  'Credits',
  'Endpoint',
  'Endpoints',
  'Message',
  'Prompt',
  'Status',
  'Test',
  'URL',
  'UUID',
  'Webhooks',
];
/** Names of objects, which are shown as they are. */
const NAMES = ['a fox', 'hooks.example.com', 'my client', 'my key', 'test', 'webhook.test'];

/** Reads the title, headings, terms and main buttons of a page. */
function readHeadings(html: string): string[] {
  const elements = html.matchAll(/<(title|h1|h2|h3|legend|dt|th|button(?= [^>]*class="main))\b[^>]*>([^]*?)<\/\1/g);
  return [...elements].map(([, , content = '']) =>
    content
      .replaceAll(/<[^>]*>/g, '')
      .replace(' · genmeter', '')
      .trim(),
  );
}

describe('pages of the account area', () => {
  let service: TestService;
  let customer: TestCustomer;
  let visitor: HttpBrowser;
  before(async () => {
    service = await startTestService({ workers: 0 });
    await setAllModelsOnline(service);
    ({ customer, visitor } = await createVisitor(service, 'pro'));
  });
  after(() => service.stop());

  /** Creates an object for each section. @returns their uuids in the order of the sections, and that of a delivery. */
  async function createObjects() {
    const create = async (path: string, body: object) =>
      (await customer.requestWithSession('POST', path, { body })).body.uuid as string;
    const generation = (await customer.createImage('a fox')).uuid;
    const key = await create('/api/keys/create/', { name: 'my key' });
    const endpoint = await create('/api/webhooks/create/', { url: RECEIVER_URL });
    await create(`/api/webhooks/${endpoint}/test/`, {});
    const [{ uuid: delivery }] = await service.sql('SELECT uuid FROM webhook_deliveries');
    await service.sql("UPDATE webhook_endpoints SET failing_since = now() WHERE url <> ''");
    const client = await registerClient(service.baseUrl, { client_name: 'my client' });
    const { verifier, challenge } = createPkce();
    const code = (await client.authorize(customer, challenge)).get('code') ?? '';
    await client.exchangeCode(code, verifier);
    const [{ uuid: grant }] = await service.sql('SELECT uuid FROM oauth_grants');
    return { uuids: [generation, key, endpoint, grant], delivery: delivery as string };
  }

  it('are in each language, without an English heading', async () => {
    const { uuids, delivery } = await createObjects();
    const pages = filterRoutes('member').flatMap(({ method, path }) => {
      const section = SECTIONS.findIndex((beginning) => path.startsWith(beginning));
      if (method !== 'GET' || section < 0) return [];
      return [path.replace(':uuid', uuids[section] ?? '').replace(':delivery', delivery)];
    });
    expect(pages).to.have.length(17);
    const english = new Map<string, string[]>();
    const untranslated: string[] = [];
    for (const language of LANGUAGES) {
      await customer.requestWithSession('PATCH', '/authentication/me/', { body: { language } });
      for (const page of pages) {
        const { status, text } = await visitor.request(`${service.baseUrl}${page}`);
        expect(status, page).to.equal(200);
        expect(text, page).to.include(`<html lang="${language}">`);
        const headings = readHeadings(text).filter((heading) => ![...COMMON_WORDS, ...NAMES].includes(heading));
        if (language === 'en') english.set(page, headings);
        const same = language === 'en' ? [] : headings.filter((heading) => english.get(page)?.includes(heading));
        untranslated.push(...same.map((heading) => `${language} ${page} ${heading}`));
      }
    }
    expect(untranslated).to.deep.equal([]);
  });
});
