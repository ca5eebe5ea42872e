import { type ErrorCode, GenmeterError } from '@genmeter/client';

/*
 * Assertions of the client suite. They use nothing but the language, because the suite also runs in Deno, Bun and
 * browsers.
 */

/** Fails with both values unless they are equal: by identity, or as JSON if they are objects. */
export function checkEqual(actual: unknown, expected: unknown, what: string): void {
  const [one, other] = [format(actual), format(expected)];
  if (one !== other) throw new Error(`${what}: expected ${other}, got ${one}`);
}

/** Fails unless the object has these fields with these values. */
export function checkFields(actual: object, expected: object, what: string): void {
  const fields = Object.keys(expected).map((name) => [name, (actual as Record<string, unknown>)[name]]);
  checkEqual(Object.fromEntries(fields), expected, what);
}

export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

/** Returns the error of a request, which must be one of the client with this code. */
export async function checkRejected(
  promise: Promise<unknown>,
  expected: { error: ErrorCode; status?: number | undefined },
): Promise<GenmeterError> {
  const thrown = await catchThrown(promise);
  check(thrown instanceof GenmeterError, `expected a GenmeterError ${expected.error}, got ${format(thrown)}`);
  checkFields(thrown, expected, `error "${thrown.detail}"`);
  checkEqual(thrown.message, thrown.detail, 'message');
  check(thrown.detail !== '', 'the error has no detail');
  return thrown;
}

/** Returns what a promise rejects with. */
export async function catchThrown(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  );
  if ('thrown' in outcome) return outcome.thrown;
  throw new Error(`expected an error, got ${format(outcome.value)}`);
}

/** Polls until a condition holds. */
export async function eventually(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + 30_000;
  while (!(await isTrue())) {
    check(Date.now() < until, `not within 30 seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Reads a list to its end. */
export async function readAll<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** JSON with sorted keys; an error as its text. */
function format(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return JSON.stringify(value, (_key, one: unknown) => (isPlainObject(one) ? sortKeys(one) : one)) ?? String(value);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const sortKeys = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
