import type { components } from './schema.ts';

export type Pagination = components['schemas']['Pagination'];

/** A page of a list, with up to 20 items. */
export interface Page<Item> {
  pagination: Pagination;
  data: Item[];
}

/** Number of the latest items whose repetition is detected. */
const REMEMBERED_ITEMS = 1_000;

/**
 * A list that is read page by page: `for await (const item of list)`, or `await list.page(2)`. Nothing is requested
 * before. Items that move to the next page because newer ones were added are returned once.
 */
export class List<Item extends { uuid: string }> implements AsyncIterable<Item> {
  readonly #fetchPage: (page: number) => Promise<Page<Item>>;

  constructor(fetchPage: (page: number) => Promise<Page<Item>>) {
    this.#fetchPage = fetchPage;
  }

  /** Reads one page, from 1. After the last one `data` is empty. */
  page(number = 1): Promise<Page<Item>> {
    return this.#fetchPage(number);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const returned = new Set<string>();
    for (let number = 1; ; number += 1) {
      const { data, pagination } = await this.#fetchPage(number);
      for (const item of data) {
        if (returned.has(item.uuid)) continue;
        returned.add(item.uuid);
        yield item;
      }
      if (pagination.next === null) return;
      // A set keeps the order of insertion.
      for (const uuid of returned) {
        if (returned.size <= REMEMBERED_ITEMS) break;
        returned.delete(uuid);
      }
    }
  }
}
