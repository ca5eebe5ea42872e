import { InvalidArgumentError } from 'commander';

/** Parses a whole number of at least 1. */
export function parseCount(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number of at least 1.');
}

/** Parses an idempotency key, which is sent in a header. */
export function parseIdempotencyKey(text: string): string {
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  throw new InvalidArgumentError('Write printable ASCII characters, such as a UUID.');
}

/** Adds a pair, written as `key=value`, to those of earlier options. */
export function collectPair(text: string, pairs: Record<string, string> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError('Write key=value.');
  return { ...pairs, [key]: value };
}
