import type { List } from '@genmeter/client';

/** Reads the first items of a list. */
export async function readFirst<Item extends { uuid: string }>(list: List<Item>, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) {
    items.push(item);
    if (items.length === limit) break;
  }
  return items;
}

export const readAll = <Item extends { uuid: string }>(list: List<Item>): Promise<Item[]> => readFirst(list, Infinity);
