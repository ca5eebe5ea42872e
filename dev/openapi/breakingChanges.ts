import type { Json } from './document.ts';

/** Direction in which a schema travels: clients send requests and receive responses. */
type Direction = 'request' | 'response';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * Lists the changes of an OpenAPI document that break existing clients: something that they may send is rejected, or
 * something that they may read is missing. Additions are allowed, except new required input.
 */
export function findBreakingChanges(before: Json, after: Json): string[] {
  const changes: string[] = [];
  for (const [path, item] of Object.entries<Json>(before['paths'])) {
    for (const method of METHODS.filter((name) => item[name] !== undefined)) {
      const place = `${method.toUpperCase()} ${path}`;
      const next = after['paths'][path]?.[method];
      if (next === undefined) changes.push(`${place}: removed`);
      else compareOperations(place, { before, after }, item[method], next, changes);
    }
  }
  return changes;
}

interface Documents {
  before: Json;
  after: Json;
}

function compareOperations(place: string, documents: Documents, before: Json, after: Json, changes: string[]): void {
  const [accepted, stillAccepted] = [listCredentials(before), listCredentials(after)];
  const isPublic = stillAccepted.length === 0;
  for (const one of accepted) {
    if (!isPublic && !stillAccepted.includes(one)) changes.push(`${place}: no longer accepts ${one}`);
  }
  if (accepted.length === 0 && !isPublic) changes.push(`${place}: now needs a credential`);

  for (const parameter of listParameters(after)) {
    const known = listParameters(before).find(
      ({ name, in: location }) => name === parameter['name'] && location === parameter['in'],
    );
    const what = `${place}: parameter ${parameter['name']}`;
    if (parameter['required'] === true && known?.['required'] !== true) changes.push(`${what} became required`);
    if (known !== undefined) {
      compareSchemas(what, documents, known['schema'], parameter['schema'], 'request', changes);
    }
  }
  for (const { name, in: location } of listParameters(before)) {
    const isKept = listParameters(after).some((other) => other['name'] === name && other['in'] === location);
    if (!isKept) changes.push(`${place}: parameter ${name} removed`);
  }
  compareBodies(place, documents, before, after, changes);
  compareResponses(place, documents, before, after, changes);
}

/** Alternatives of credentials; none for a public operation. */
function listCredentials(operation: Json): string[] {
  return (operation['security'] as Json[]).map((one) => JSON.stringify(one));
}

function listParameters(operation: Json): Json[] {
  return operation['parameters'] ?? [];
}

function compareBodies(place: string, documents: Documents, before: Json, after: Json, changes: string[]): void {
  const [old, next] = [before['requestBody'], after['requestBody']] as (Json | undefined)[];
  if (next?.['required'] === true && old?.['required'] !== true) changes.push(`${place}: request body became required`);
  for (const [type, { schema }] of Object.entries<Json>(old?.['content'] ?? {})) {
    const content = next?.['content']?.[type];
    if (content === undefined) changes.push(`${place}: no longer accepts ${type}`);
    else compareSchemas(`${place}: request`, documents, schema, content.schema, 'request', changes);
  }
}

function compareResponses(place: string, documents: Documents, before: Json, after: Json, changes: string[]): void {
  for (const [status, response] of Object.entries<Json>(before['responses'])) {
    const next = after['responses'][status];
    if (next === undefined) {
      // An error that no longer occurs breaks no client.
      if (Number(status) < 400) changes.push(`${place}: response ${status} removed`);
      continue;
    }
    const [old, current] = [resolve(documents.before, response), resolve(documents.after, next)];
    for (const [type, { schema }] of Object.entries<Json>(old['content'] ?? {})) {
      const content = current['content']?.[type];
      if (content === undefined) changes.push(`${place}: response ${status} is no longer ${type}`);
      else compareSchemas(`${place}: response ${status}`, documents, schema, content.schema, 'response', changes);
    }
  }
}

function compareSchemas(
  place: string,
  documents: Documents,
  before: Json,
  after: Json,
  direction: Direction,
  changes: string[],
): void {
  const [old, next] = [resolve(documents.before, before), resolve(documents.after, after)];
  // Values that the receiver must accept: the service those of requests, the client those of responses.
  const [accepted, produced] = direction === 'request' ? [next, old] : [old, next];
  const missingTypes = listTypes(produced).filter((type) => !listTypes(accepted).includes(type));
  if (missingTypes.length > 0)
    changes.push(`${place}: type changed (${listTypes(old).join(', ')} to ${listTypes(next).join(', ')})`);
  const allowed: unknown[] | undefined = accepted['enum'];
  const values: unknown[] | undefined = produced['enum'];
  if (direction === 'request') {
    const rejected = allowed && (values ?? ['other values']).filter((value) => !allowed.includes(value));
    if (rejected && rejected.length > 0) changes.push(`${place}: no longer accepts ${rejected.join(', ')}`);
    compareBounds(place, old, next, changes);
  }
  compareProperties(place, documents, old, next, direction, changes);
  if (old['items'] !== undefined && next['items'] !== undefined) {
    compareSchemas(`${place}[]`, documents, old['items'], next['items'], direction, changes);
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const [variants, others]: (Json[] | undefined)[] = [old[keyword], next[keyword]];
    if (variants === undefined) continue;
    for (const [index, variant] of variants.entries()) {
      const other = others?.[index];
      if (other === undefined) changes.push(`${place}: ${keyword} lost a variant`);
      else compareSchemas(place, documents, variant, other, direction, changes);
    }
  }
}

/** Bounds of input that became narrower. */
function compareBounds(place: string, before: Json, after: Json, changes: string[]): void {
  for (const keyword of ['minimum', 'minLength', 'minItems']) {
    if ((after[keyword] ?? -Infinity) > (before[keyword] ?? -Infinity)) changes.push(`${place}: ${keyword} was raised`);
  }
  for (const keyword of ['maximum', 'maxLength', 'maxItems']) {
    if ((after[keyword] ?? Infinity) < (before[keyword] ?? Infinity)) changes.push(`${place}: ${keyword} was lowered`);
  }
}

function compareProperties(
  place: string,
  documents: Documents,
  before: Json,
  after: Json,
  direction: Direction,
  changes: string[],
): void {
  const [old, next] = [before['properties'] ?? {}, after['properties'] ?? {}] as [Json, Json];
  const [oldRequired, nextRequired]: string[][] = [before['required'] ?? [], after['required'] ?? []];
  for (const [name, schema] of Object.entries<Json>(old)) {
    if (next[name] === undefined) changes.push(`${place}.${name}: removed`);
    else compareSchemas(`${place}.${name}`, documents, schema, next[name], direction, changes);
  }
  if (direction === 'request') {
    const added = nextRequired?.filter((name) => !oldRequired?.includes(name)) ?? [];
    for (const name of added) changes.push(`${place}.${name}: became required`);
  } else {
    const dropped = oldRequired?.filter((name) => next[name] !== undefined && !nextRequired?.includes(name)) ?? [];
    for (const name of dropped) changes.push(`${place}.${name}: is no longer always present`);
  }
}

function listTypes(schema: Json): string[] {
  const type: string | string[] | undefined = schema['type'];
  return type === undefined ? [] : [type].flat();
}

/** Follows references to components of the same document. */
function resolve(document: Json, value: Json): Json {
  const reference: string | undefined = value['$ref'];
  if (reference === undefined) return value;
  const target = reference
    .split('/')
    .slice(1)
    .reduce<Json>((node, key) => node[key] as Json, document);
  return resolve(document, target);
}
