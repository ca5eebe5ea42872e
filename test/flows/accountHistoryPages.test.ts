import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { IMAGE } from '../harness/apiClient.ts';
import { addTopupCredits, seedImages, setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const link = (uuid: string, name: string) => new RegExp(`href="/account/library/${uuid}/"[^>]*>${name}</a>`);

describe('usage, ledger and library pages', () => {
  const service = useTestService({ workers: 1 });
  before(async () => {
    service.upstream.outcome = 'succeed';
    await setAllModelsOnline(service);
  });

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('show a new account what each page will contain', async () => {
    const { visitor } = await createVisitor(service);
    const pages = { usage: 'No generations yet.', ledger: 'No entries.', library: 'No generations yet.' };
    for (const [name, sentence] of Object.entries(pages)) {
      const { status, text } = await visitor.request(at(`/account/${name}/`));
      expect([status, text.includes(sentence)], name).to.deep.equal([200, true]);
      expect(text).to.match(new RegExp(`href="/account/${name}/" aria-current="page"`));
      expect(text).to.not.match(/ style=/);
    }
    const library = await visitor.request(at('/account/library/'));
    expect(library.text)
      .to.include('>Create an API key</a>')
      .and.to.include('href="/account/applications/#connect">Connect an assistant</a>');
    const { text } = await visitor.request(at('/account/'));
    expect(text).to.include('Getting started').and.to.include('Choose a plan');
  });

  it('show the credits of each day and model, as the usage summary reports them', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 24);
    const { text } = await visitor.request(at('/account/usage/'));
    expect(text).to.include('24 credits since').and.to.include('0 of 5 generations');
    expect(text).to.match(/Image model<\/th><td class="number">24<\/td><td class="number">24/);
  });

  it('list ledger entries by page, and export all of them as CSV', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 25);
    const first = await visitor.request(at('/account/ledger/'));
    expect(first.text).to.include('−1').and.to.include('Page 1 of 2').and.to.include('href="/account/ledger/?page=2"');
    const last = await visitor.request(at('/account/ledger/?page=2'));
    expect(last.text).to.include('+1,100').and.to.not.include('Older');
    expect((await visitor.request(at('/account/ledger/?page=0'))).status).to.equal(400);

    const csv = await visitor.request(at('/account/ledger/export/'));
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    expect(csv.headers.get('content-disposition')).to.equal('attachment; filename="genmeter-ledger.csv"');
    const lines = csv.text.split('\r\n');
    expect(lines).to.have.length(1 + 26 + 1);
    expect(lines[0]).to.equal('number,created_at,type,description,credits,balance_after,generation');
    expect(lines[1]).to.match(/^26,.+,burn,Generation: imgmodel-2,-1,1075,[0-9a-f-]{36}$/);
    expect(lines[26]).to.match(/^1,.+,grant,.+,1100,1100,$/);
  });

  it('name models in the ledger, and link the generations that were not deleted', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    const [kept, deleted] = [await customer.createImage('kept'), await customer.createImage('deleted')];
    for (const { uuid } of [kept, deleted]) await customer.waitForEnd(uuid);
    await sendAccountForm(service.baseUrl, visitor, `/account/library/${deleted.uuid}/delete/`);
    const { text } = await visitor.request(at('/account/ledger/'));
    expect(text)
      .to.include(`<a href="/account/library/${kept.uuid}/"><span lang="en">Image model</span></a>`)
      .and.to.include('<span lang="en">Image model</span> (deleted)</td>')
      .and.to.not.include(deleted.uuid);
    const { body } = await customer.request('GET', '/api/ledger/');
    expect(body.data[0].description).to.equal('Generation: imgmodel-2');
  });

  it('show the credits of a top-up in the language of the account, and the stored text in files and the API', async () => {
    const { customer, visitor } = await createVisitor(service);
    await addTopupCredits(service, customer, 10_000, 'Top-up: 10000 credits');
    expect((await visitor.request(at('/account/ledger/'))).text).to.include('>Top-up: 10,000 credits</td>');
    await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { language: 'de' });
    const { text } = await visitor.request(at('/account/ledger/'));
    expect(text).to.include('>Aufladung: 10.000 Credits</td>').and.to.not.include('Top-up');
    const csv = await visitor.request(at('/account/ledger/export/'));
    expect(csv.text).to.include('topup,Top-up: 10000 credits,10000');
    const { body } = await customer.request('GET', '/api/ledger/');
    expect(body.data[0].description).to.equal('Top-up: 10000 credits');
  });

  it('show what created a generation, its metadata, and the generations beside it', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    const made = [];
    for (const order of ['1', '2', '3', '4'])
      made.push(
        (
          await customer.request('POST', '/api/generations/create/', {
            body: { ...IMAGE, prompt: order, metadata: { order } },
          })
        ).body.uuid,
      );
    const [first, second, third, fourth] = made as [string, string, string, string];
    await sendAccountForm(service.baseUrl, visitor, `/account/library/${third}/delete/`);
    const { text } = await visitor.request(at(`/account/library/${second}/`));
    expect(text)
      .to.include('Created with the API key “test”.')
      .and.to.include('{\n  &quot;order&quot;: &quot;2&quot;\n}')
      .and.to.match(link(fourth, 'Newer'))
      .and.to.match(link(first, 'Older'));
    expect((await visitor.request(at(`/account/library/${first}/`))).text).to.not.include('>Older</a>');
  });

  it('show each generation with its file, and delete it after a confirmation', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    const { uuid } = await customer.createImage('a <b>bold</b> lighthouse');
    const { output_url: outputUrl } = await customer.waitForEnd(uuid);
    const page = await visitor.request(at('/account/library/'));
    expect(page.text).to.include('a &lt;b>bold&lt;/b> lighthouse').and.to.include(`href="${outputUrl}"`);
    const origin = new URL(outputUrl).origin;
    expect(page.headers.get('content-security-policy')).to.include(
      `img-src 'self' data: ${origin}; media-src ${origin};`,
    );

    const own = await visitor.request(at(`/account/library/${uuid}/`));
    expect(own.text).to.include('resolution: 1K').and.to.include(uuid).and.to.not.include('data-live');

    const action = `/account/library/${uuid}/delete/`;
    const question = await visitor.request(at(action));
    expect(question.text).to.include('Delete this generation?').and.to.include('href="/account/library/"');
    const deleted = await sendAccountForm(service.baseUrl, visitor, action);
    expect(deleted.headers.get('location')).to.equal('/account/library/?done=deleted');
    const after = await visitor.request(at('/account/library/?done=deleted'));
    expect(after.text).to.include('<title>The generation is deleted · genmeter</title>').and.to.not.include(uuid);
    expect((await visitor.request(at('/account/library/?done=deleted'))).text).to.include('<title>Library · genmeter<');
    const repeated = await visitor.request(at(action));
    expect([repeated.status, repeated.text.includes('Not found.')]).to.deep.equal([404, true]);
  });
});
