import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { addTopupCredits, deleteGenerationsByNumber, seedImages, varyGenerations } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const PAGE_SIZE = 20;
const FILTERED_ITEMS_MAX = 10_000;
const LIST = '/api/generations/';

type Filter = Record<string, string>;
type Item = Record<string, any>;

/** Reads all pages of a list, by its links. */
async function readAll(customer: TestCustomer, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { status, body }: { status: number; body: any } = await customer.request('GET', next);
    expect(status, next).to.equal(200);
    items.push(...body.data);
    next = body.pagination.next;
  }
  return items;
}

async function callListLibrary(customer: TestCustomer, args: object): Promise<any> {
  const session = await openMcpSession(customer);
  return (await postMcp(customer, buildToolCall('list_library', args), { headers: session })).body.result;
}

/** The filter, written as plainly as possible. */
function matches(item: Item, { status, kind, model, created_after: after, created_before: before }: Filter): boolean {
  const createdAt = Date.parse(item['created_at'] as string);
  return (
    (status === undefined || item['status'] === status) &&
    (kind === undefined || item['kind'] === kind) &&
    (model === undefined || item['model'] === model) &&
    (after === undefined || createdAt >= Date.parse(after)) &&
    (before === undefined || createdAt < Date.parse(before))
  );
}

/** Every combination of one value of each list; `undefined` leaves the parameter out. */
function combine(values: Record<string, (string | undefined)[]>): Filter[] {
  return Object.entries(values).reduce<Filter[]>(
    (filters, [name, options]) =>
      filters.flatMap((filter) =>
        options.map((value) => (value === undefined ? filter : { ...filter, [name]: value })),
      ),
    [{}],
  );
}

describe('filters of the list of generations', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  let whole: Item[];
  before(async () => {
    customer = await service.createCustomer('pro');
    for (const owner of [customer, await service.createCustomer('pro')]) {
      await seedImages(service, owner, 150);
      await varyGenerations(service, owner);
    }
    await deleteGenerationsByNumber(service, customer, [3, 40, 41, 42, 77, 150]);
    whole = await readAll(customer, LIST);
    expect(whole).to.have.length(144);
  });

  const filters = combine({
    status: [undefined, 'queued', 'succeeded', 'failed'],
    kind: [undefined, 'video', 'image'],
    model: [undefined, 'vidmodel-video', 'imgmodel-2'],
    created_after: [undefined, '2026-03-03', '2026-03-04T10:00:00.000Z'],
    created_before: [undefined, '2026-03-05', '2026-03-04T12:00:00+01:00'],
  }).filter((filter) => Object.keys(filter).length > 0);

  it('equal the filter of the whole list, in its order, for every combination of values', async () => {
    let nonEmpty = 0;
    for (const filter of filters) {
      const query = new URLSearchParams(filter).toString();
      const expected = whole.filter((item) => matches(item, filter));
      expect(await readAll(customer, `${LIST}?${query}`), query).to.deep.equal(expected);
      if (expected.length > 0) nonEmpty += 1;
    }
    // The rows are varied enough for the comparison to mean something.
    expect(nonEmpty).to.be.above(filters.length / 3);
  });

  it('have the counts and the links of their own pages, which keep the filters', async () => {
    const chosen: Filter[] = [{ status: 'succeeded' }, { kind: 'video', created_after: '2026-03-02T00:00:00+00:00' }];
    for (const filter of chosen) {
      const query = new URLSearchParams(filter).toString();
      const count = whole.filter((item) => matches(item, filter)).length;
      const pages = Math.ceil(count / PAGE_SIZE);
      expect(pages).to.be.above(1);
      const link = (page: number) => `${service.baseUrl}${LIST}?${query}&page=${page}`;
      for (let page = 1; page <= pages + 2; page += 1) {
        const { body } = await customer.request('GET', `${LIST}?page=${page}&${query}&utm_source=x`);
        expect(body.pagination, link(page)).to.deep.equal({
          next: page < pages ? link(page + 1) : null,
          previous: page > 1 ? link(Math.min(page - 1, pages)) : null,
          current_page: page,
          total_pages: pages,
          total_items: count,
        });
      }
    }
  });

  it('match nothing with 200 when a kind and a model of another kind, or an empty time, are combined', async () => {
    for (const query of [
      'kind=video&model=imgmodel-2',
      'created_after=2026-03-05&created_before=2026-03-05',
      'created_after=2026-03-06&created_before=2026-03-05',
      'created_after=9999-12-31',
      'created_before=0001-01-01',
    ]) {
      const { status, body } = await customer.request('GET', `${LIST}?${query}`);
      expect([status, body.data, body.pagination.total_items, body.pagination.total_pages], query).to.deep.equal([
        200,
        [],
        0,
        1,
      ]);
    }
  });

  it('follow a change at once: a deleted generation is neither counted nor shown', async () => {
    const owner = await service.createCustomer('pro');
    await seedImages(service, owner, 3);
    const [newest] = await readAll(owner, `${LIST}?status=succeeded`);
    expect((await owner.request('DELETE', `${LIST}${newest?.['uuid']}/`)).status).to.equal(204);
    const { body } = await owner.request('GET', `${LIST}?status=succeeded`);
    expect(body.pagination.total_items).to.equal(2);
    expect(body.data.map(({ uuid }: Item) => uuid)).to.not.include(newest?.['uuid']);
  });

  const invalid: [query: string, field: string][] = [
    ['status=done', 'status must be one of: queued, succeeded, failed.'],
    ['status=', 'status'],
    ['status=QUEUED', 'status'],
    ['status=queued&status=failed', 'status'],
    ['kind=audio', 'kind must be one of: video, image.'],
    ['kind', 'kind'],
    ['model=vidmodel', 'model must be one of: vidmodel-video, imgmodel-2.'],
    ['model=%00', 'model'],
    ['created_after=yesterday', 'created_after must be a date (2026-11-21) or a time with its zone'],
    ['created_after=2026-02-30', 'created_after'],
    ['created_after=2026-11-21T09:30:00', 'created_after'],
    ['created_after=2026-11-21T09:30:00+01:00', 'created_after'],
    ['created_after=', 'created_after'],
    ['created_before=1763715000', 'created_before must be a date'],
    ['created_before=2026-11-21&created_before=2026-11-22', 'created_before'],
    ['status=queued&page=0', 'page'],
  ];
  for (const [query, mentions] of invalid) {
    it(`?${query} returns 400 validation_error with the name of the parameter`, async () => {
      expectError(await customer.request('GET', `${LIST}?${query}`), 'validation_error', mentions);
    });
  }

  for (const query of ['Status=done', 'status[]=done', 'statuses=done', 'created=never', 'entry_type=none']) {
    it(`?${query} is not a filter and returns the whole list`, async () => {
      const { status, body } = await customer.request('GET', `${LIST}?${query}`);
      expect([status, body.pagination.total_items]).to.deep.equal([200, whole.length]);
      expect(body.pagination.next).to.equal(`${service.baseUrl}${LIST}?page=2`);
    });
  }

  describe('of list_library', () => {
    it('return the same generations as REST, and name the filters with the next page', async () => {
      const chosen: Filter[] = [{ status: 'failed' }, { kind: 'image', created_before: '2026-03-05' }];
      for (const filter of chosen) {
        const query = new URLSearchParams(filter).toString();
        const { body } = await customer.request('GET', `${LIST}?${query}`);
        const { structuredContent, content } = await callListLibrary(customer, filter);
        expect(structuredContent.data.map(({ uuid }: Item) => uuid)).to.deep.equal(
          body.data.map(({ uuid }: Item) => uuid),
        );
        expect(body.pagination).to.deep.include(structuredContent.pagination);
        expect(content[0].text).to.include(`${body.pagination.total_items} generations match the filters.`);
        expect(structuredContent.next).to.include('with page 2 and the same filters');
      }
    });
  });

  describe('of more than 10,000 matches', () => {
    let owner: TestCustomer;
    before(async () => {
      owner = await service.createCustomer('pro');
      await addTopupCredits(service, owner, FILTERED_ITEMS_MAX);
      await seedImages(service, owner, FILTERED_ITEMS_MAX);
    });

    const read = async (page: number, query = 'status=succeeded') => {
      const response = await owner.request('GET', `${LIST}?${query}&page=${page}`);
      return { ...response, prompts: response.body.data?.map(({ prompt }: Item) => prompt) as string[] | undefined };
    };

    it('count and show exactly 10,000, and nothing with 200 after the last page', async () => {
      const last = await read(500);
      expect(last.body.pagination).to.include({ next: null, total_pages: 500, total_items: FILTERED_ITEMS_MAX });
      expect(last.prompts).to.deep.equal(Array.from({ length: PAGE_SIZE }, (_, index) => String(PAGE_SIZE - index)));
      for (const page of [501, 999_999_999_999_999]) {
        const { status, prompts } = await read(page);
        expect([status, prompts]).to.deep.equal([200, []]);
      }
    });

    it('count one more and reject later pages, until the filter is narrower', async () => {
      await seedImages(service, owner, 30, 2);
      const total = FILTERED_ITEMS_MAX + 30;
      const first = await read(1, 'kind=image');
      expect(first.body.pagination).to.include({ total_pages: 501, total_items: FILTERED_ITEMS_MAX + 1 });
      // Chosen by time, and shown by number: the last 30 are older than all others, and one of them is among the
      // newest.
      expect(first.prompts?.slice(0, 2)).to.deep.equal([String(total), String(FILTERED_ITEMS_MAX)]);
      const last = await read(500, 'kind=image');
      expect(last.status).to.equal(200);
      expect(last.body.pagination.next).to.equal(`${service.baseUrl}${LIST}?kind=image&page=501`);
      for (const page of [501, 502, 999_999_999_999_999])
        expectError(await read(page, 'kind=image'), 'validation_error', 'page must be at most 500 in a filtered list.');
      const yesterday = new Date(Date.now() - 86_400_000).toISOString();
      const older = await read(1, `created_before=${yesterday}`);
      expect(older.body.pagination).to.include({ total_items: 30, total_pages: 2 });
      expect(older.prompts?.[0]).to.equal(String(total));
      // The whole list has no such limit.
      const whole = await owner.request('GET', `${LIST}?page=502`);
      expect([whole.status, whole.body.data.length]).to.deep.equal([200, 10]);
    });
  });
});
