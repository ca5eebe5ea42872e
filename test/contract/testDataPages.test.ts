import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import type { HttpBrowser } from '../harness/httpBrowser.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { addTestKey, useTestModeService } from '../harness/testMode.ts';
import type { TestService } from '../harness/testService.ts';

const LIBRARY = '/account/library/';
const USAGE = '/account/usage/';

describe('test data on the pages of its owner', () => {
  const testMode = useTestModeService({ workers: 0 });
  let service: TestService;
  let customer: TestCustomer;
  let visitor: HttpBrowser;
  let live: string;
  let test: string;
  before(async () => {
    ({ service } = testMode);
    await setAllModelsOnline(service);
    ({ customer, visitor } = await createVisitor(service, 'pro'));
    live = (await customer.createImage('a live lighthouse')).uuid;
    const { tester } = await addTestKey(customer);
    test = (await tester.createImage('a test lighthouse')).uuid;
  });

  const visit = async (path: string, browser = visitor) => {
    const { status, text } = await browser.request(`${service.baseUrl}${path}`);
    return { status, text, heading: /<h1>(.*?)<\/h1>/.exec(text)?.[1] };
  };

  it('is shown in the library with mode=test, apart from live data, and the pages link to each other', async () => {
    const usual = await visit(LIBRARY);
    expect(usual.text).to.include('a live lighthouse').and.to.not.include('a test lighthouse');
    expect(usual.text).to.include(`<a href="${LIBRARY}?mode=test">Show test data</a>`);
    const tests = await visit(`${LIBRARY}?mode=test`);
    expect([tests.status, tests.heading]).to.deep.equal([200, 'Library: test data']);
    expect(tests.text).to.include('a test lighthouse').and.to.not.include('a live lighthouse');
    expect(tests.text)
      .to.include('<span class="tag">Test</span>')
      .and.to.include(`<a href="${LIBRARY}">Show live data</a>`);
    expect(tests.text).to.include(`href="${LIBRARY}${test}/?mode=test"`);
  });

  it('can be read, and not canceled or deleted', async () => {
    const page = await visit(`${LIBRARY}${test}/?mode=test`);
    expect(page.status).to.equal(200);
    expect(page.text).to.include('a test lighthouse').and.to.include('<span class="tag">Test</span>');
    expect(page.text).to.include(`href="${LIBRARY}?mode=test"`);
    for (const { text } of [page, await visit(`${LIBRARY}?mode=test`)])
      expect(text).to.not.match(new RegExp(`${test}/(cancel|delete)/`));
    for (const action of ['cancel', 'delete'])
      expect((await visit(`${LIBRARY}${test}/${action}/?mode=test`)).status, action).to.equal(404);
  });

  it('is not found without the mode, and live data not with it', async () => {
    for (const path of [`${LIBRARY}${test}/`, `${LIBRARY}${live}/?mode=test`])
      expect((await visit(path)).status, path).to.equal(404);
    const { visitor: stranger, customer: other } = await createVisitor(service);
    await addTestKey(other);
    expect((await visit(`${LIBRARY}${test}/?mode=test`, stranger)).status).to.equal(404);
    expect((await visit(`${LIBRARY}?mode=test`, stranger)).text).to.include('No test generations yet.');
  });

  it('is counted on the usage page with mode=test, without credits', async () => {
    const usual = await visit(USAGE);
    expect(usual.text)
      .to.include(`<a href="${USAGE}?mode=test">Show test data</a>`)
      .and.to.include('id="credits-by-day"');
    const { text, heading } = await visit(`${USAGE}?mode=test`);
    expect(heading).to.equal('Usage: test data');
    expect(text).to.match(/Image model<\/th><td class="number">1<\/td><td class="number">0</);
    expect(text).to.not.match(/id="(period|credits-by-day|by-key)"/);
  });

  it('keeps its filter on the next page of the library', async () => {
    const { visitor: browser, customer } = await createVisitor(service, 'pro');
    const { tester } = await addTestKey(customer);
    for (let count = 0; count < 21; count += 1) {
      const { uuid } = await tester.createImage(`test image ${count}`);
      expect((await tester.request('POST', `/api/generations/${uuid}/cancel/`)).status).to.equal(200);
    }
    const { text } = await visit(`${LIBRARY}?mode=test&kind=image`, browser);
    const [, next = ''] = /href="([^"]*page=2[^"]*)"/.exec(text) ?? [];
    expect(next.replaceAll('&amp;', '&')).to.include('mode=test').and.to.include('kind=image');
  });

  it('is not offered to an account without a test key, whose address with mode=test is not found', async () => {
    const { visitor: newcomer } = await createVisitor(service);
    expect((await visit(LIBRARY, newcomer)).text).to.not.include('Show test data');
    for (const path of [LIBRARY, USAGE]) {
      const { status, text } = await visit(`${path}?mode=test`, newcomer);
      expect([status, text.includes('create a test key first')], path).to.deep.equal([404, true]);
      expect((await visit(`${path}?mode=other`, newcomer)).status).to.equal(400);
    }
  });

  it('comes from a test key, which the list of keys does not describe as one for the whole account', async () => {
    const { text } = await visit('/account/keys/');
    expect(text).to.include('Never expires, and creates test data only.');
    expect(text).to.include('Never expires, and may use the whole account.');
  });

  it('has metadata on the page of a generation, as live data', async () => {
    const metadata = { project: 'lighthouse', 'scene <b>': '12' };
    const { body } = await customer.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'a', metadata },
    });
    const { text } = await visit(`${LIBRARY}${body.uuid}/`);
    expect(text).to.include('&quot;scene &lt;b>&quot;: &quot;12&quot;');
    expect((await visit(`${LIBRARY}${live}/`)).text).to.not.include('Metadata');
  });
});
