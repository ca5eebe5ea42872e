import type { JsonResponse } from '../http.ts';
import type { Condition, ProtocolCount } from './protocol.ts';

/** Splits a JSON pointer into the names of its steps. */
export function splitPointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const HEADER = 'header:';

/** Returns the values at a pointer of a response, in its order. Missing ones, null and empty texts are left out. */
export function readValues({ body, headers }: JsonResponse, pointer: string): unknown[] {
  const found = pointer.startsWith(HEADER)
    ? [headers[pointer.slice(HEADER.length)]]
    : splitPointer(pointer).reduce((values, step) => values.flatMap((value) => takeStep(value, step)), [body]);
  return found.filter((value) => value !== undefined && value !== null && value !== '');
}

function takeStep(value: unknown, step: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === '*') return Object.values(value);
  return Object.hasOwn(value, step) ? [(value as Record<string, unknown>)[step]] : [];
}

/** Returns the first value as text: a text, a number or a switch. Undefined for anything else. */
export function readText(response: JsonResponse, pointer: string | undefined): string | undefined {
  const value = pointer === undefined ? undefined : readValues(response, pointer)[0];
  return toText(value);
}

export function toText(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

/** Returns true if a response has the status and a value of a condition. An empty list and `false` are not values. */
export function meets(response: JsonResponse, { status, at, is, absent }: Condition): boolean {
  if (status !== undefined && status !== response.status) return false;
  if (absent !== undefined && readValues(response, absent).length > 0) return false;
  if (at === undefined) return true;
  const values = readValues(response, at);
  if (is !== undefined) return values.some((value) => is.some((pattern) => fits(toText(value), pattern)));
  return values.some((value) => value !== false && !(Array.isArray(value) && value.length === 0));
}

/** Counts the values that fit. Without `is`, a value is a number that counts itself. */
export function countValues(response: JsonResponse, { at, is }: ProtocolCount): number {
  const counts = readValues(response, at).map((value) => {
    if (is === undefined) return Math.max(0, Number(toText(value)) || 0);
    return is.some((pattern) => fits(toText(value), pattern)) ? 1 : 0;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A pattern is a text in which `*` stands for any characters. */
function fits(text: string | undefined, pattern: string): boolean {
  const [start = '', ...others] = pattern.split('*');
  const end = others.pop();
  if (text === undefined || end === undefined) return text === pattern;
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  let at = start.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at + end.length <= text.length;
}
