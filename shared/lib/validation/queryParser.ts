import type { Static, TObject, TSchema } from 'typebox';
import { createBodyParser, type Parse } from './bodyParser.ts';

/** Parameters by name, such as those of a query. A repeated parameter is an array. */
export type Parameters = Readonly<Record<string, unknown>>;

/** At most 15 digits, so that the number is exact. */
const WHOLE_NUMBER = /^0*[0-9]{1,15}$/;

/**
 * Creates a parser for the parameters of a query. Integers are read from their digits. An object is written as
 * `name[key]=value`, and its pairs are left to the caller. Parameters that are not in the schema are ignored.
 * @returns a function that returns the parameters with their defaults, or throws a `validation_error` that names one.
 */
export function createQueryParser<Schema extends TSchema>(schema: Schema): Parse<Static<Schema>> {
  const properties = Object.entries((schema as unknown as TObject).properties) as [string, { type?: string }][];
  const checked = properties.filter(([, { type }]) => type !== 'object');
  const objects = properties.filter(([, { type }]) => type === 'object').map(([name]) => name);
  const parse = createBodyParser({ ...schema, properties: Object.fromEntries(checked) });
  return (input) => {
    const parameters = input as Parameters;
    const given = checked.flatMap(([name, { type }]) => {
      const value = parameters[name];
      return value === undefined ? [] : [[name, type === 'integer' ? readInteger(value) : value] as const];
    });
    return {
      ...(parse(Object.fromEntries(given)) as object),
      ...Object.fromEntries(objects.map((name) => [name, readPairs(parameters, name)])),
    } as Static<Schema>;
  };
}

function readInteger(value: unknown): unknown {
  return typeof value === 'string' && WHOLE_NUMBER.test(value) ? Number(value) : value;
}

function readPairs(parameters: Parameters, name: string): Record<string, unknown> {
  const pairs = Object.entries(parameters).flatMap(([parameter, value]) =>
    parameter.startsWith(`${name}[`) && parameter.endsWith(']')
      ? [[parameter.slice(name.length + 1, -1), value] as const]
      : [],
  );
  return Object.fromEntries(pairs);
}
