import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { seedImages } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const PAGE_BYTES_MAX = 100_000;
const LONG_PROMPT = '\u{10348}'.repeat(2_500);

const readUser = async (customer: TestCustomer) =>
  (await customer.requestWithSession('GET', '/authentication/me/')).body.user;

describe('details of the account pages', () => {
  const service = useTestService({ workers: 0 });

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('explain how to connect an assistant, with the address filled in', async () => {
    const { visitor } = await createVisitor(service);
    const former = await visitor.request(at('/account/connect/'));
    expect([former.status, former.headers.get('location')]).to.deep.equal([301, '/account/applications/#connect']);
    const { text } = await visitor.request(at('/account/applications/'));
    expect(text.indexOf('>Connected applications</h2>')).to.be.within(0, text.indexOf('>Connect an assistant</h2>'));
    expect(text).to.include(`>${at('/mcp')}</code>`);
    expect(text).to.include(`claude mcp add --scope user --transport http genmeter ${at('/mcp')}`);
    for (const name of ['Claude', 'ChatGPT', 'Cursor', 'Claude Code', 'Codex', 'VS Code', 'Other assistants'])
      expect(text).to.include(`<details><summary>${name}</summary>`);
    expect((await visitor.request(at('/account/'))).text).to.match(
      /<main[^]*href="\/account\/applications\/#connect"[^]*<\/main>/,
    );
  });

  it('have a skip link first, then navigation with the current page, and sign-out at the top', async () => {
    const { visitor } = await createVisitor(service);
    const { text } = await visitor.request(at('/account/usage/'));
    expect(text).to.match(/<body class="area"><a class="skip" href="#content">Skip to content<\/a><aside/);
    expect(text)
      .to.match(/<main id="content"/)
      .and.to.match(/<a href="\/account\/usage\/" aria-current="page">/);
    expect(text.indexOf('action="/account/sign-out/"')).to.be.within(0, text.indexOf('<main'));
    expect(text.match(/<h1>/g)).to.have.length(1);
  });

  it('save the language as the API does, and show one that another program has set', async () => {
    const { customer, visitor } = await createVisitor(service);
    await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { language: 'fr' });
    expect(await readUser(customer)).to.include({ language: 'fr' });
    for (const language of ['', 'f', 'fr_FR', '<b>']) {
      const { status, text } = await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { language });
      expect([status, text.includes('a language code such as en or pt-BR')], language).to.deep.equal([400, true]);
    }
    await customer.requestWithSession('PATCH', '/authentication/me/', { body: { language: 'gsw-CH' } });
    const { text } = await visitor.request(at('/account/settings/'));
    expect(text).to.match(/<option value="gsw-CH" selected[^>]*>gsw-CH<\/option>/);
    expect(await readUser(customer)).to.include({ language: 'gsw-CH' });
  });

  it('ask for confirmation before one session is ended', async () => {
    const { customer, visitor } = await createVisitor(service);
    const other = new HttpBrowser();
    await other.submitForm(at('/sign-in'), { email: customer.email });
    const { text } = await visitor.request(at('/account/settings/'));
    const [action = ''] = /\/account\/sessions\/[0-9a-f-]{36}\/end\//.exec(text) ?? [];
    const question = await visitor.request(at(action));
    expect(question.text).to.include('<h1>Sign out Firefox on Linux?</h1>').and.to.include('href="/account/settings/"');
    expect((await other.request(at('/account/'))).status).to.equal(200);
    const ended = await visitor.submitForm(at(action), findForm(question.text, action).fields);
    expect(ended.headers.get('location')).to.equal('/account/settings/?done=session-ended');
    expect((await other.request(at('/account/'))).status).to.equal(303);
    expect((await visitor.request(at(action))).status).to.equal(404);
  });

  it('show the steps of the onboarding until all are done', async () => {
    const { customer, visitor } = await createVisitor(service);
    const countDone = async () => (await visitor.request(at('/account/'))).text.match(/>Done</g)?.length ?? 0;
    // The test customer has a key.
    expect(await countDone()).to.equal(1);
    await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { first_name: 'Ada' });
    await sendAccountForm(service.baseUrl, visitor, '/account/plan/', { plan: 'pro' });
    expect(await countDone()).to.equal(3);
    expect((await readUser(customer)).onboarding_step).to.equal('complete');
    await seedImages(service, customer, 1);
    expect((await visitor.request(at('/account/'))).text).to.not.include('Getting started');
  });

  it('show balance by bucket, the period, jobs in progress, the last 30 days and the models', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 3);
    const { text } = await visitor.request(at('/account/'));
    for (const part of [
      '1,097 credits: 1,097 of your plan, 0 bought',
      '3 credits since',
      '<dt>Granted</dt><dd>1,100 credits</dd>',
      '<dt>Next grant</dt><dd>1,100 credits on ',
      '0 of 5 generations',
      'Credits by day, last 30 days',
    ])
      expect(text).to.include(part);
    const usage = await visitor.request(at('/account/usage/?days=7'));
    const row = '<th scope="row">Image model</th><td class="number">3</td><td class="number">3</td>';
    expect(usage.text.split(row)).to.have.length(3);
    expect(usage.text).to.include('By model, in the last 7 days');
  });

  it('are smaller than 100 KB, also with long prompts', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 20);
    await service.sql(
      'UPDATE generations SET prompt = $2 WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
      [customer.email, LONG_PROMPT],
    );
    const [{ uuid }] = (await customer.request('GET', '/api/generations/')).body.data;
    const names = [
      'library/',
      `library/${uuid}/`,
      `library/${uuid}/delete/`,
      'ledger/',
      'usage/',
      'billing/',
      'applications/',
    ];
    for (const name of names) {
      const { status, text } = await visitor.request(at(`/account/${name}`));
      expect(status, name).to.equal(200);
      expect(Buffer.byteLength(text), name).to.be.below(PAGE_BYTES_MAX);
    }
    expect((await visitor.request(at(`/account/library/${uuid}/`))).text).to.include(LONG_PROMPT);
  });
});
