import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { addTopupCredits, seedImages } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const LEDGER = '/api/ledger/';
const HEADER = 'number,created_at,type,description,credits,balance_after,generation';
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

type Entry = Record<string, any>;

async function readAll(customer: TestCustomer, path = LEDGER): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { status, body }: { status: number; body: any } = await customer.request('GET', next);
    expect(status, next).to.equal(200);
    entries.push(...body.data);
    next = body.pagination.next;
  }
  return entries;
}

/** Downloads the ledger as CSV. @returns the lines after the header. */
async function readCsv(customer: TestCustomer, query = ''): Promise<string[]> {
  const { status, headers, body } = await customer.request('GET', `${LEDGER}${query}`, {
    headers: { accept: 'text/csv' },
  });
  expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/csv; charset=utf-8']);
  const lines = (body as string).split('\r\n');
  expect([lines[0], lines.at(-1)]).to.deep.equal([HEADER, '']);
  return lines.slice(1, -1);
}

describe('filters of the ledger', () => {
  const service = useTestService();
  let customer: TestCustomer;
  let whole: Entry[];
  const at = (path: string) => `${service.baseUrl}${path}`;
  before(async () => {
    customer = await service.createCustomer('pro');
    await addTopupCredits(service, customer, 500);
    // Older than the entries before them, so that the order of times is not that of the numbers.
    for (const days of [20, 3, 9]) await seedImages(service, customer, 30, days);
    service.upstream.outcome = 'fail';
    for (let count = 0; count < 3; count += 1) await customer.waitForEnd((await customer.createImage()).uuid);
    await addTopupCredits(service, customer, 100, '=HYPERLINK("http://example.com", "a, b")');
    whole = await readAll(customer);
    expect(whole).to.have.length(1 + 1 + 90 + 6 + 1);
  });

  const times = [undefined, daysAgo(15), daysAgo(5), daysAgo(1).slice(0, 10)];
  const filters = [undefined, 'grant', 'burn', 'refund', 'rollover', 'expiry', 'topup']
    .flatMap((type) => times.flatMap((after) => times.map((before) => ({ type, after, before }))))
    .filter(({ type, after, before }) => (type ?? after ?? before) !== undefined)
    .map(({ type, after, before }) => {
      const query = new URLSearchParams(
        Object.entries({ entry_type: type, created_after: after, created_before: before }).filter(
          (pair): pair is [string, string] => pair[1] !== undefined,
        ),
      );
      const isMatch = ({ entry_type: entryType, created_at: createdAt }: Entry) =>
        (type === undefined || entryType === type) &&
        (after === undefined || Date.parse(createdAt) >= Date.parse(after)) &&
        (before === undefined || Date.parse(createdAt) < Date.parse(before));
      return { query: `?${query.toString()}`, isMatch };
    });

  it('equal the filter of the whole ledger, in its order, for every combination of values', async () => {
    const lengths = new Set<number>();
    for (const { query, isMatch } of filters) {
      const expected = whole.filter(isMatch);
      lengths.add(expected.length);
      expect(await readAll(customer, `${LEDGER}${query}`), query).to.deep.equal(expected);
    }
    expect(lengths.size).to.be.above(5);
  });

  it('apply to CSV, which contains all pages', async () => {
    const lines = await readCsv(customer);
    expect(lines).to.have.length(whole.length);
    for (const { query, isMatch } of filters) {
      const expected = lines.filter((_, index) => isMatch(whole[index] as Entry));
      expect(await readCsv(customer, query), query).to.deep.equal(expected);
    }
    expect(await readCsv(customer, '?page=3')).to.deep.equal(lines);
  });

  it('keep the filters in the links', async () => {
    const { body } = await customer.request('GET', `${LEDGER}?page=2&entry_type=burn&x=y`);
    expect(body.pagination).to.deep.equal({
      next: `${service.baseUrl}${LEDGER}?entry_type=burn&page=3`,
      previous: `${service.baseUrl}${LEDGER}?entry_type=burn&page=1`,
      current_page: 2,
      total_pages: 5,
      total_items: 93,
    });
    const past = await customer.request('GET', `${LEDGER}?page=9&entry_type=topup`);
    expect(past.body.data).to.deep.equal([]);
    expect(past.body.pagination).to.include({
      total_items: 2,
      previous: `${service.baseUrl}${LEDGER}?entry_type=topup&page=1`,
    });
  });

  it('show entries of the own account only, as JSON and CSV', async () => {
    const other = await service.createCustomer('lite');
    for (const query of ['?entry_type=grant', '?created_after=2026-01-01']) {
      expect((await readAll(other, `${LEDGER}${query}`)).map(({ amount }) => amount)).to.deep.equal([200]);
      expect(await readCsv(other, query)).to.have.length(1);
    }
    expect(await readAll(other, `${LEDGER}?entry_type=burn`)).to.deep.equal([]);
    expect(await readCsv(other, '?entry_type=burn')).to.deep.equal([]);
  });

  for (const [query, mentions] of [
    ['entry_type=gift', 'entry_type must be one of: grant, burn, refund, rollover, expiry, topup.'],
    ['entry_type=', 'entry_type'],
    ['entry_type=burn&entry_type=grant', 'entry_type'],
    ['created_after=now', 'created_after must be a date'],
    ['created_before=2026-13-01', 'created_before'],
    ['page=0', 'page'],
  ] as const) {
    it(`?${query} returns 400 validation_error, also to a client that wants CSV`, async () => {
      for (const accept of ['application/json', 'text/csv'])
        expectError(
          await customer.request('GET', `${LEDGER}?${query}`, { headers: { accept } }),
          'validation_error',
          mentions,
        );
    });
  }

  describe('as CSV', () => {
    it('have a line for each entry, and no cell that a spreadsheet runs as a formula', async () => {
      const lines = await readCsv(customer, '?entry_type=topup');
      expect(lines).to.have.length(2);
      expect(lines[0]).to.match(/^99,\S+Z,topup,"'=HYPERLINK\(""http:\/\/example.com"", ""a, b""\)",100,\d+,$/);
      expect(lines[1]).to.match(/^2,\S+Z,topup,Top-up,500,1600,$/);
      const [burn] = await readCsv(customer, '?entry_type=burn');
      expect(burn).to.match(/^\d+,\S+Z,burn,Generation: imgmodel-2,-8,\d+,[0-9a-f-]{36}$/);
    });

    it('are sent to clients that prefer text/csv, and JSON to all others', async () => {
      const types: [accept: string, type: string][] = [
        ['text/csv', 'text/csv'],
        ['text/csv, */*;q=0.1', 'text/csv'],
        ['text/*', 'application/json'],
        ['text/*, */*;q=0.5', 'application/json'],
        ['*/*', 'application/json'],
        ['application/json', 'application/json'],
        ['application/json, text/csv;q=0.9', 'application/json'],
        ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
        ['text/html', 'application/json'],
        ['text/csv;q=0', 'application/json'],
        ['nonsense', 'application/json'],
      ];
      for (const [accept, type] of types) {
        const { status, headers } = await customer.request('GET', LEDGER, { headers: { accept } });
        expect([status, headers.get('content-type')], accept).to.deep.equal([200, `${type}; charset=utf-8`]);
      }
    });

    it('are a file that is not cached, also with the session', async () => {
      const { headers, body } = await customer.requestWithSession('GET', `${LEDGER}?entry_type=grant`, {
        headers: { accept: 'text/csv' },
      });
      expect(headers.get('content-disposition')).to.equal('attachment; filename="genmeter-ledger.csv"');
      expect(headers.get('cache-control')).to.equal('no-store');
      expect((body as string).split('\r\n')).to.have.length(3);
      expectError(await service.request('GET', LEDGER, { headers: { accept: 'text/csv' } }), 'invalid_api_key');
    });

    it('contain ledgers that are longer than a batch, in order and without gaps', async () => {
      const owner = await service.createCustomer('pro');
      await addTopupCredits(service, owner, 3_000);
      await seedImages(service, owner, 2_998);
      const numbers = (await readCsv(owner)).map((line) => Number(line.split(',')[0]));
      expect(numbers).to.deep.equal(Array.from({ length: 3_000 }, (_, index) => 3_000 - index));
      expect(await readCsv(owner, '?entry_type=grant')).to.have.length(1);
    });
  });

  describe('on the ledger page', () => {
    it('filter by type and day, and link to the same entries as a file', async () => {
      const { customer: owner, visitor } = await createVisitor(service, 'pro');
      await seedImages(service, owner, 25);
      const query = 'entry_type=burn&from=2026-01-01';
      const { status, text } = await visitor.request(at(`/account/ledger/?${query}&to=`));
      expect(status).to.equal(200);
      expect(text).to.include('25 match.').and.to.include('Page 1 of 2').and.to.not.include('+1,100');
      expect(text).to.include(`href="/account/ledger/?${query.replace('&', '&amp;')}&amp;page=2"`);
      expect(text).to.match(/<option value="burn" selected>Used<\/option>/);
      expect(text).to.include('value="2026-01-01"').and.to.include('href="/account/ledger/">Clear filters');
      const [, href = ''] = /href="(\/account\/ledger\/export\/[^"]*)"/.exec(text) ?? [];
      const csv = await visitor.request(at(href.replaceAll('&amp;', '&')));
      expect(csv.text.split('\r\n')).to.have.length(1 + 25 + 1);
      const none = await visitor.request(at('/account/ledger/?entry_type=expiry'));
      expect(none.text).to.include('Nothing matches these filters.').and.to.include('0 match.');
    });

    it('show an invalid value again with what is wrong, and the whole ledger', async () => {
      const { visitor } = await createVisitor(service, 'pro');
      const { status, text } = await visitor.request(at('/account/ledger/?from=11/21/2026&entry_type=grant'));
      expect(status).to.equal(400);
      expect(text).to.match(/role="alert"[^>]*>From must be a day \(2026-11-21\)\./);
      expect(text).to.match(/<input id="from" type="text" name="from" value="11\/21\/2026"/);
      expect(text).to.include('+1,100').and.to.include('<title>Error: Credit history');
      const csv = await visitor.request(at('/account/ledger/export/?entry_type=gift'));
      expect(csv.status).to.equal(400);
    });
  });
});
