import type Stripe from 'stripe';
import { type StripeStore, type StripeKind, type StripeObjects, toApiList } from './store.ts';
import type { StripeParams } from './params.ts';
import type { StripeHandler } from './handler.ts';

/** Parameters of every list. */
export const LIST_PARAMS = ['limit', 'starting_after', 'ending_before', 'expand'] as const;

/** Parameters of a request that takes no others. */
export interface ExpandParams {
  expand?: string[];
}

/** Returns a handler for the object that the path names. */
export function retrieveObject(kind: StripeKind): StripeHandler {
  return (store, params, id) => {
    params.allowOnly<ExpandParams>('expand');
    return store.get(kind, id);
  };
}

/** Returns a page of a list, newest first. */
export function listObjects<Name extends StripeKind>(
  store: StripeStore,
  kind: Name,
  params: StripeParams,
  url: string,
  isWanted: (object: StripeObjects[Name]) => boolean = () => true,
): object {
  const limit = params.integer('limit') ?? 10;
  if (limit < 1 || limit > 100) params.reject('limit', 'This value must be between 1 and 100.');
  const isInTime = createTimeFilter(params);
  const all = store.list(kind).filter((object) => isInTime(getCreated(object)) && isWanted(object));
  const after = params.text('starting_after');
  const before = params.text('ending_before');
  const from = after === undefined ? 0 : 1 + findIndex(after, 'starting_after');
  const rest = before === undefined ? all.slice(from) : all.slice(0, findIndex(before, 'ending_before'));
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  return toApiList(data, url, rest.length > data.length);

  function findIndex(id: string, param: string): number {
    store.get(kind, id, param);
    return all.findIndex((object) => object.id === id);
  }
}

function getCreated(object: object): number {
  return 'created' in object ? Number(object.created) : 0;
}

function createTimeFilter(params: StripeParams): (created: number) => boolean {
  if (!params.has('created')) return () => true;
  if (typeof params.form['created'] === 'string') {
    const exactly = params.integer('created');
    return (created) => created === exactly;
  }
  const range = params.nested('created').allowOnly<Stripe.RangeQueryParam>('gt', 'gte', 'lt', 'lte');
  const [gt, gte, lt, lte] = ['gt', 'gte', 'lt', 'lte'].map((name) => range.integer(name));
  return (created) =>
    (gt === undefined || created > gt) &&
    (gte === undefined || created >= gte) &&
    (lt === undefined || created < lt) &&
    (lte === undefined || created <= lte);
}

/** Returns a copy in which the ids at these paths (`data.latest_charge`) are expanded to objects. */
export function expandPaths(store: StripeStore, body: unknown, paths: string[], params: StripeParams): unknown {
  const copy = structuredClone(body);
  for (const path of paths)
    expandPath(store, copy, path.split('.'), () =>
      params.reject('expand', `This property cannot be expanded (${path}).`),
    );
  return copy;
}

function expandPath(store: StripeStore, at: unknown, [name = '', ...rest]: string[], refuse: () => never): void {
  if (Array.isArray(at)) {
    for (const item of at) expandPath(store, item, [name, ...rest], refuse);
    return;
  }
  if (typeof at !== 'object' || at === null) return;
  const place = at as Record<string, unknown>;
  if (!(name in place)) return refuse();
  const value = place[name];
  if (typeof value === 'string') {
    const object = store.findAny(value);
    if (object === undefined) return refuse();
    place[name] = structuredClone(object);
  }
  if (rest.length > 0) expandPath(store, place[name], rest, refuse);
}
