import { expect } from 'chai';
import { DELETION_BLOCK as BLOCK } from '../../shared/domain/generations/delete.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { useTestService } from '../harness/testService.ts';
import { deleteGenerationsByNumber, seedImages, addTopupCredits } from '../harness/seeds.ts';

const PAGE_SIZE = 20;
const LISTS = ['/api/generations/', '/api/keys/', '/api/ledger/', '/api/models/', '/api/billing/invoices/'];

/** Pseudo-random numbers below `limit`, the same in every run. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

const list = async (customer: TestCustomer, page: number) =>
  (await customer.request('GET', `/api/generations/?page=${page}`)).body;

const allPages = (left: number[]) => range(1, Math.ceil(left.length / PAGE_SIZE) + 1);

describe('lists', () => {
  const service = useTestService({ workers: 0 });

  /** Compares pages of the list with those of a naive list of the remaining numbers, oldest first. */
  async function expectPages(customer: TestCustomer, left: number[], pages: number[]): Promise<void> {
    const newestFirst = left.toReversed();
    const totalPages = Math.max(1, Math.ceil(left.length / PAGE_SIZE));
    const responses = await Promise.all(pages.map((page) => list(customer, page)));
    for (const [index, { pagination, data }] of responses.entries()) {
      const page = pages[index] ?? 0;
      const link = (number: number) => `${service.baseUrl}/api/generations/?page=${number}`;
      expect(pagination, `page ${page}`).to.deep.equal({
        next: page < totalPages ? link(page + 1) : null,
        previous: page > 1 ? link(Math.min(page - 1, totalPages)) : null,
        current_page: page,
        total_pages: totalPages,
        total_items: left.length,
      });
      const numbers = data.map(({ prompt }: { prompt: string }) => Number(prompt));
      expect(numbers, `page ${page}`).to.deep.equal(newestFirst.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE));
    }
  }

  for (const count of [0, 1, 19, 20, 21, 40, 41]) {
    it(`of ${count} items have pages of 20, and empty data with 200 after the last page`, async () => {
      const customer = await service.createCustomer('pro');
      if (count > 0) await seedImages(service, customer, count);
      const left = count === 0 ? [] : range(1, count);
      await expectPages(customer, left, [1, 2, 3, 4, 1000]);
    });
  }

  it('are linked page by page through next and previous', async () => {
    const customer = await service.createCustomer('pro');
    await seedImages(service, customer, 65);
    const walk = async (from: string, direction: 'next' | 'previous') => {
      const lengths: number[] = [];
      for (let path: string | null = from; path !== null; ) {
        const { body }: { body: any } = await customer.request('GET', path);
        lengths.push(body.data.length);
        path = body.pagination[direction];
      }
      return lengths;
    };
    expect(await walk('/api/generations/', 'next')).to.deep.equal([20, 20, 20, 5]);
    expect(await walk('/api/generations/?page=4', 'previous')).to.deep.equal([5, 20, 20, 20]);
    expect(await walk('/api/generations/?page=900', 'previous')).to.deep.equal([0, 5, 20, 20, 20]);
  });

  it('show every remaining item once after 100 of 700 were deleted one by one and concurrently', async () => {
    const customer = await service.createCustomer('pro');
    await seedImages(service, customer, 700);
    const rows = await service.sql<{ uuid: string; number: number }>(
      `SELECT uuid, number::int FROM generations WHERE account_id = (SELECT id FROM accounts WHERE email = $1) ORDER BY number`,
      [customer.email],
    );
    const roll = createRandom(7);
    let left = rows;
    for (const count of [1, 24, 75]) {
      const gone = new Set(Array.from({ length: count }, () => left[roll(left.length)]?.uuid ?? ''));
      // At a time as many as one account can wait for within the time limit of a statement on a busy machine.
      const uuids = [...gone];
      while (uuids.length > 0) {
        const deletions = uuids.splice(0, 25).map((uuid) => customer.request('DELETE', `/api/generations/${uuid}/`));
        for (const { status } of await Promise.all(deletions)) expect(status).to.equal(204);
      }
      left = left.filter(({ uuid }) => !gone.has(uuid));
      const numbers = left.map(({ number }) => number);
      await expectPages(customer, numbers, allPages(numbers));
    }
    const blocks = await service.sql(
      `SELECT sum(deleted)::int AS deleted FROM generation_deletion_counts
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    const deleted = rows.length - left.length;
    expect(blocks).to.deep.equal([{ deleted }]);
  });

  it('of 70,000 items with all kinds of deletions equal a naive list', async function () {
    this.slow(20_000);
    const customer = await service.createCustomer('pro');
    await addTopupCredits(service, customer, 70_000);
    await seedImages(service, customer, 70_000);
    const roll = createRandom(42);
    let left = range(1, 70_000);
    const rounds: ((number: number) => boolean)[] = [
      // A large block except its ends, a range across its border, and single items everywhere.
      (number) => number > 5_000 && number < 5_000 + 3 * BLOCK,
      (number) => number > 65_536 - 300 && number < 65_536 + 300,
      () => roll(100) === 0,
      () => roll(3) === 0,
      (number) => number > 2 && number <= 65_536 - 1,
      () => true,
    ];
    for (const isDeleted of rounds) {
      const gone = new Set(left.filter(isDeleted));
      await deleteGenerationsByNumber(service, customer, [...gone]);
      left = left.filter((number) => !gone.has(number));
      const totalPages = Math.ceil(left.length / PAGE_SIZE);
      /** Pages at the borders of large and some small blocks, the first and last page, and random ones. */
      const bordering = [BLOCK, 5_000, 20 * BLOCK, 65_536, 65_536 + BLOCK].map((number) => {
        const newer = left.length - left.filter((candidate) => candidate <= number).length;
        return Math.floor(newer / PAGE_SIZE) + 1;
      });
      const pages = [
        1,
        2,
        totalPages - 1,
        totalPages,
        totalPages + 1,
        ...bordering,
        ...Array.from({ length: 20 }, () => 1 + roll(totalPages)),
      ];
      await expectPages(customer, left, [...new Set(pages.filter((page) => page >= 1))]);
    }
    await seedImages(service, customer, 5);
    await expectPages(customer, range(70_001, 70_005), [1, 2]);
  });

  describe('with a page parameter', () => {
    let customer: TestCustomer;
    before(async () => {
      customer = await service.createCustomer('pro');
    });
    afterEach('nothing was charged or created', async () => {
      expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
      expect((await customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(1);
    });

    const bad = [
      '0',
      '-1',
      '1.5',
      'abc',
      '',
      '1e3',
      '0x10',
      '+1',
      '-0',
      '1e309',
      'NaN',
      'null',
      'true',
      '1,2',
      '1;2',
      '99999999999999999999',
      '٣',
      '1%00',
      '%ff',
      '1 2',
    ];
    for (const page of bad) {
      it(`page ${JSON.stringify(page)} returns 400 validation_error on every list`, async () => {
        for (const path of LISTS)
          expectError(
            await customer.request('GET', `${path}?page=${encodeURI(page).replaceAll('%25', '%')}`),
            'validation_error',
            'page',
          );
      });
    }

    for (const query of ['?page=1&page=2', '?page=&page=1', '?page']) {
      it(`${query} returns 400 validation_error on every list`, async () => {
        for (const path of LISTS)
          expectError(await customer.request('GET', `${path}${query}`), 'validation_error', 'page');
      });
    }

    for (const query of [
      '',
      '?',
      '?page=1',
      '?page=01',
      '?other=5',
      '?page[]=5',
      '?page%5Bx%5D=5',
      '?Page=5',
      '?__proto__=5',
      '?constructor=5',
      '?utm_source=x&page=1',
    ]) {
      it(`${query || 'no query'} returns the first page of every list`, async () => {
        for (const path of LISTS) {
          const { status, body } = await customer.request('GET', `${path}${query}`);
          expect([status, body.pagination?.current_page], `${path}${query}`).to.deep.equal([200, 1]);
        }
      });
    }

    for (const page of ['2', '1000', '107374183', '200000000', '2147483648', '90071992547409']) {
      it(`page ${page}, after the last one of every list, returns 200 with empty data`, async () => {
        for (const path of LISTS) {
          const { status, body } = await customer.request('GET', `${path}?page=${page}`);
          expect([status, body.data], path).to.deep.equal([200, []]);
          expect(body.pagination).to.include({ current_page: Number(page), next: null, total_pages: 1 });
        }
      });
    }
  });
});
