import Type from 'typebox';
import { ConfigError } from '../config.ts';

/** Schema of a text on one line of CATALOG. */
export const LineText = (maxLength: number) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '^(?!\\s)\\P{Cc}*(?<!\\s)$',
    description: `a text of 1 to ${maxLength} characters on one line, without spaces around it`,
  });

/** Options of a schema of objects whose names have a form. */
export const Names = (pattern: string, description: string) => ({
  propertyNames: { type: 'string', pattern, description },
});

/** @throws ConfigError if a name is one that every object has. */
export function requireUsableName(path: string, name: string): void {
  if (name in Object.prototype)
    throw new ConfigError(`${path}: the name "${name}" is reserved, so choose another one.`);
}
