import { ConfigError } from '../config.ts';

/** Readers of the fields of CATALOG. Every error is one sentence that names the path. */

/** @throws ConfigError if a value is not an object, or has another field than the allowed ones. */
export function readObject(path: string, value: unknown, allowed?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError(`${path} must be an object.`);
  const unknown = allowed === undefined ? undefined : Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  throw new ConfigError(`${path} has no field "${unknown.slice(0, 60)}"; allowed fields are ${allowed?.join(', ')}.`);
}

/** @throws ConfigError */
export function readText(path: string, value: unknown, maxCharacters: number): string {
  const isText = typeof value === 'string' && value.trim() === value && value !== '' && !/\p{Cc}/u.test(value);
  if (isText && countCharacters(value) <= maxCharacters) return value;
  throw new ConfigError(
    `${path} must be a text of 1 to ${maxCharacters} characters on one line, without spaces around it.`,
  );
}

/** @throws ConfigError */
export function readOptional<Value>(value: unknown, read: (value: unknown) => Value): Value | undefined {
  return value === undefined ? undefined : read(value);
}

/** @throws ConfigError */
export function readBoolean(path: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ConfigError(`${path} must be true or false.`);
}

/** @throws ConfigError */
export function readInteger(path: string, value: unknown, minimum: number, maximum: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum)
    return value as number;
  throw new ConfigError(`${path} must be a whole number from ${minimum} to ${maximum}.`);
}

/** @throws ConfigError */
export function readChoice<Choice extends string>(path: string, value: unknown, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new ConfigError(`${path} must be one of ${choices.join(', ')}.`);
}

/** @throws ConfigError */
export function readList(path: string, value: unknown, maxItems: number): unknown[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= maxItems) return value;
  throw new ConfigError(`${path} must be a list of 1 to ${maxItems} values.`);
}

/** @throws ConfigError if a name has another form, or is one that every object has. */
export function requireName(path: string, name: string, pattern: RegExp, form: string): void {
  if (!pattern.test(name)) throw new ConfigError(`${path}: the name "${name.slice(0, 80)}" must be ${form}.`);
  if (name in Object.prototype)
    throw new ConfigError(`${path}: the name "${name}" is reserved, so choose another one.`);
}

/** Counts the Unicode characters of a text, as the schemas of requests do. */
export const countCharacters = (text: string): number => Array.from(text).length;
