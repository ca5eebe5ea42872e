import { expect } from 'chai';
import { getPageOffset, countPages, paginate } from '../../shared/lib/pagination.ts';

describe('pagination', () => {
  for (const [items, pages] of [
    [0, 1],
    [1, 1],
    [19, 1],
    [20, 1],
    [21, 2],
    [40, 2],
    [41, 3],
    [1_000_001, 50_001],
  ] as const) {
    it(`${items} items have ${pages} pages`, () => {
      expect(countPages(items)).to.equal(pages);
    });
  }

  it('splits a list into pages that contain every item once, in order', () => {
    const list = Array.from({ length: 45 }, (_, index) => index);
    const pages = [1, 2, 3].map((page) => paginate(list, page));
    expect(pages.flatMap(({ items }) => items)).to.deep.equal(list);
    expect(pages.map(({ page, totalItems }) => [page, totalItems])).to.deep.equal([
      [1, 45],
      [2, 45],
      [3, 45],
    ]);
    expect(paginate(list, 4).items).to.deep.equal([]);
    expect(getPageOffset(3)).to.equal(40);
  });
});
