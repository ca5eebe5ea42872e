import { type Books, type Kind, type Kinds, listOf } from './books.ts';
import type { Params } from './form.ts';
import type { Handler } from './routes.ts';

export const PAGE_PARAMS = ['limit', 'starting_after', 'ending_before', 'created', 'expand'];

/** Answers with the object that the path names. */
export function retrieve(kind: Kind): Handler {
  return (books, params, id) => {
    params.only('expand');
    return books.get(kind, id);
  };
}

/** A page of a list, the newest first. */
export function page<Name extends Kind>(
  books: Books,
  kind: Name,
  params: Params,
  url: string,
  isWanted: (object: Kinds[Name]) => boolean = () => true,
): object {
  const limit = params.integer('limit') ?? 10;
  if (limit < 1 || limit > 100) params.refuse('limit', 'This value must be between 1 and 100.');
  const isInTime = timeFilter(params);
  const all = books.list(kind).filter((object) => isInTime(createdOf(object)) && isWanted(object));
  const after = params.text('starting_after');
  const before = params.text('ending_before');
  const from = after === undefined ? 0 : 1 + indexOf(after, 'starting_after');
  const rest = before === undefined ? all.slice(from) : all.slice(0, indexOf(before, 'ending_before'));
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  return listOf(data, url, rest.length > data.length);

  function indexOf(id: string, param: string): number {
    books.get(kind, id, param);
    return all.findIndex((object) => object.id === id);
  }
}

function createdOf(object: object): number {
  return 'created' in object ? Number(object.created) : 0;
}

function timeFilter(params: Params): (created: number) => boolean {
  if (!params.has('created')) return () => true;
  if (typeof params.form['created'] === 'string') {
    const exactly = params.integer('created');
    return (created) => created === exactly;
  }
  const range = params.at('created').only('gt', 'gte', 'lt', 'lte');
  const [gt, gte, lt, lte] = ['gt', 'gte', 'lt', 'lte'].map((name) => range.integer(name));
  return (created) =>
    (gt === undefined || created > gt) &&
    (gte === undefined || created >= gte) &&
    (lt === undefined || created < lt) &&
    (lte === undefined || created <= lte);
}

/** A copy in which the ids at these paths (`data.latest_charge`) are the objects themselves. */
export function expanded(books: Books, body: unknown, paths: string[], params: Params): unknown {
  const copy = structuredClone(body);
  for (const path of paths)
    expand(books, copy, path.split('.'), () => params.refuse('expand', `This property cannot be expanded (${path}).`));
  return copy;
}

function expand(books: Books, at: unknown, [name = '', ...rest]: string[], refuse: () => never): void {
  if (Array.isArray(at)) {
    for (const item of at) expand(books, item, [name, ...rest], refuse);
    return;
  }
  if (typeof at !== 'object' || at === null) return;
  const place = at as Record<string, unknown>;
  if (!(name in place)) return refuse();
  const value = place[name];
  if (typeof value === 'string') {
    const object = books.findAny(value);
    if (object === undefined) return refuse();
    place[name] = structuredClone(object);
  }
  if (rest.length > 0) expand(books, place[name], rest, refuse);
}
