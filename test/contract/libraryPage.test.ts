import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { findForm } from '../harness/httpBrowser.ts';
import { completeAllGenerations, seedImages, setAllModelsOnline, varyGenerations } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const countCards = (text: string) => text.split('class="button slight danger"').length - 1;

describe('the library page', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  const at = (path: string) => `${service.baseUrl}${path}`;

  it('filters by status, type and day, and its pages keep the filters', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 120);
    await varyGenerations(service, customer);
    const query = 'status=succeeded&kind=image&from=2026-03-02';
    const { body } = await customer.request('GET', `/api/generations/?${query.replace('from', 'created_after')}`);
    const total = body.pagination.total_items as number;
    expect(total).to.be.within(21, 100);
    // A form sends fields that were left empty, too.
    const { status, text } = await visitor.request(at(`/account/library/?${query}&to=`));
    expect([status, countCards(text)]).to.deep.equal([200, 20]);
    expect(text).to.include(`${total} match.`).and.to.include(`Page 1 of ${body.pagination.total_pages}`);
    expect(text).to.include(`href="/account/library/?${query.replaceAll('&', '&amp;')}&amp;page=2"`);
    expect(text)
      .to.match(/<option value="succeeded" selected>/)
      .and.to.match(/<option value="image" selected>/);
    expect(text).to.include('value="2026-03-02"').and.to.include('href="/account/library/">Clear filters');
    // A list of few pages has no field for the page.
    expect(text).to.not.include('name="page"');
    const all = await visitor.request(at('/account/library/?kind=image&page=2'));
    expect(all.text)
      .to.include('href="/account/library/?kind=image&amp;page=1">First</a>')
      .and.to.match(
        /page=\d+">Last<\/a><form method="get" action="\/account\/library\/"><input type="hidden" name="kind"/,
      )
      .and.to.match(/<input id="page" type="text" name="page"/);
    for (const { uuid } of body.data) expect(text).to.include(`/account/library/${uuid}/delete/`);
    const second = await visitor.request(at(`/account/library/?${query}&page=2`));
    expect(countCards(second.text)).to.equal(Math.min(20, total - 20));
    const none = await visitor.request(at('/account/library/?to=2020-01-01'));
    expect(none.text).to.include('Nothing matches these filters.').and.to.include('0 match.');
  });

  it('includes the whole last day, as a range of the API that ends with the next day', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 120);
    await varyGenerations(service, customer);
    const days = 'created_after=2026-03-03&created_before=2026-03-05';
    const { body } = await customer.request('GET', `/api/generations/?${days}`);
    expect(body.pagination.total_items).to.be.greaterThan(20);
    for (const { created_at: at } of body.data) expect(at).to.match(/^2026-03-0[34]T/);
    const { text } = await visitor.request(at('/account/library/?from=2026-03-03&to=2026-03-04'));
    expect(text)
      .to.include(`${body.pagination.total_items} match.`)
      .and.to.include('href="/account/library/?from=2026-03-03&amp;to=2026-03-04&amp;page=2"')
      .and.to.include('name="to" value="2026-03-04"');
  });

  it('has closed filters until one is set', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 1);
    const findFilters = async (query: string) =>
      /<details [^>]*><summary>Filters<\/summary><form/.exec(
        (await visitor.request(at(`/account/library/${query}`))).text,
      )?.[0];
    for (const query of ['', '?page=1', '?status=&from='])
      expect(await findFilters(query), query)
        .to.be.a('string')
        .and.to.not.match(/ open/);
    for (const query of ['?status=succeeded', '?to=2026-03-02', '?from=yesterday', '?model=imgmodel-2'])
      expect(await findFilters(query), query).to.match(/ open/);
  });

  it('keeps the model and the metadata of a link when the form is sent, and offers to clear them', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 1);
    const { body } = await customer.request('GET', '/api/generations/');
    for (const [name, value] of [
      ['model', body.data[0].model],
      ['metadata[project]', 'summer'],
    ]) {
      const { text } = await visitor.request(at(`/account/library/?${new URLSearchParams({ [name]: value })}`));
      expect(text).to.include(`<input type="hidden" name="${name}" value="${value}"`).and.to.include('>Clear filters');
    }
    const { text } = await visitor.request(at('/account/library/'));
    expect(text).to.not.include('name="model"').and.to.not.include('metadata');
  });

  it('shows an invalid value again with what is wrong, and all generations', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 2);
    for (const [query, message] of [
      ['to=tomorrow', 'To must be a day (2026-11-21).'],
      ['from=2026-02-30', 'From must be a day (2026-11-21).'],
      ['to=9999-12-31', 'To must be a day (2026-11-21).'],
      ['status=done', 'Status must be one of: queued, succeeded, failed.'],
      ['page=0', 'Page must be a whole number, 1 or more.'],
    ] as const) {
      const { status, text } = await visitor.request(at(`/account/library/?${query}`));
      expect([status, countCards(text)], query).to.deep.equal([400, 2]);
      expect(text)
        .to.match(/role="alert"/)
        .and.to.include(message);
    }
    const { text } = await visitor.request(at('/account/library/?to=tomorrow'));
    expect(text).to.include('<input id="to" type="text" name="to" value="tomorrow"');
  });

  it('escapes values of the address', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 1);
    const { text } = await visitor.request(at(`/account/library/?from=${encodeURIComponent('"><b>x')}`));
    expect(text).to.include('value="&quot;>&lt;b>x"').and.to.not.include('"><b>x');
  });

  it('says of each generation whether it is in progress, has a file, or failed and was refunded', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    const queued = await customer.createImage('a queued fox');
    const open = async () => (await visitor.request(at('/account/library/'))).text;
    const waiting = await open();
    expect(waiting).to.match(/<span class="tag off">In progress<\/span>/);
    expect(waiting).to.match(/<\/svg>In progress for \d+ s<\/span>/);
    expect(waiting).to.include('Reload the page to see the results.').and.to.not.include('>Download<');
    expect((await visitor.request(at(`/account/library/${queued.uuid}/delete/`))).text).to.include(
      'It is still in progress, and keeps its slot until it ends.',
    );

    await seedImages(service, customer, 5);
    await varyGenerations(service, customer);
    const text = await open();
    // Number 1 is queued, number 5 failed.
    expect(text).to.match(/<span class="tag warn">Failed, refunded<\/span>/);
    expect(text).to.include('<p class="small" lang="en">The model refused.</p>');
    // Number 3 is a video without a thumbnail.
    expect(text).to.match(
      /<span class="preview empty"[^>]*><svg class="icon"[^]*?Succeeded<\/span><span class="prompt">3</,
    );
    expect(text).to.include('aria-label="Download: 2"').and.to.not.include('aria-label="Download: 5"');
  });

  it('does not show deleted generations, with and without a filter', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await seedImages(service, customer, 2);
    const { body } = await customer.request('GET', '/api/generations/');
    const [gone, left] = body.data.map(({ uuid }: { uuid: string }) => uuid) as [string, string];
    await sendAccountForm(service.baseUrl, visitor, `/account/library/${gone}/delete/`);
    for (const query of ['', '?status=succeeded', '?done=deleted']) {
      const { text } = await visitor.request(at(`/account/library/${query}`));
      expect(text, query).to.include(left).and.to.not.include(gone);
    }
  });

  describe('with a generation to cancel', () => {
    it('is offered while a generation is in progress, asks for confirmation, and shows the outcome', async () => {
      const { customer, visitor } = await createVisitor(service, 'pro');
      const { uuid } = await customer.createImage('a queued fox');
      const path = `/account/library/${uuid}/`;
      for (const page of ['/account/library/', path])
        expect((await visitor.request(at(page))).text).to.include(
          `href="${path}cancel/" aria-label="Cancel: a queued fox"`,
        );
      const { text } = await visitor.request(at(`${path}cancel/`));
      expect(text).to.include('Cancel this generation?').and.to.include('>Go back</a>').and.to.include('a queued fox');
      expect((await customer.readGeneration(uuid)).body.status).to.equal('queued');
      await sendAccountForm(service.baseUrl, visitor, `${path}cancel/`);
      const done = await visitor.request(at(`${path}?done=canceled`));
      expect(done.text).to.include('The generation is canceled and its credits are refunded.');
      expect(done.text).to.match(/<title>The generation is canceled\b/);
      expect(done.text).to.include('Canceled, refunded</span>').and.to.not.include(`${path}cancel/`);
      expect(await customer.balance()).to.equal(1_100);
      // The confirmation of a generation that has ended leads to its page.
      expect((await visitor.request(at(`${path}cancel/`))).headers.get('location')).to.equal(path);
    });

    it('says that it was requested if the generation was submitted, and that it came too late if it has ended', async () => {
      const { customer, visitor } = await createVisitor(service, 'pro');
      const { uuid } = await customer.createImage();
      await service.sql('UPDATE generations SET unconfirmed_submits = 1 WHERE uuid = $1', [uuid]);
      const path = `/account/library/${uuid}/`;
      await sendAccountForm(service.baseUrl, visitor, `${path}cancel/`);
      const requested = await visitor.request(at(`${path}?done=cancel-requested`));
      expect(requested.text).to.include('The credits are refunded if the model has not started.');
      const { fields } = findForm((await visitor.request(at(`${path}cancel/`))).text, `${path}cancel/`);
      await completeAllGenerations(service, customer);
      await visitor.submitForm(at(`${path}cancel/`), fields);
      const late = await visitor.request(at(`${path}?done=not-canceled`));
      expect(late.text).to.include('The generation had ended before it could be canceled.');
    });
  });
});
