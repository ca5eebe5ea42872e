import type { ParamDefinition } from '../../spec/catalog.ts';
import { ConfigError } from '../config.ts';
import { countCharacters } from './countCharacters.ts';
import { readBoolean, readChoice, readInteger, readList, readObject, readOptional, readText } from './fields.ts';

const ENUM_VALUES_MAX = 100;
const ENUM_TEXT_MAX_CHARACTERS = 100;
const TEXT_MAX_CHARACTERS = 2_000;
const DESCRIPTION_MAX_CHARACTERS = 300;
/** Seeds of providers are up to this. */
const INTEGER_MAX = 4_294_967_295;

const TYPES = ['integer', 'number', 'boolean', 'string'] as const;
const FIELDS = ['enum', 'type', 'minimum', 'maximum', 'default', 'required', 'description'];

type Scalar = string | number | boolean;

/** Parses a parameter of a model. @throws ConfigError */
export function parseParam(path: string, value: unknown): ParamDefinition {
  const fields = readObject(path, value, FIELDS);
  if ((fields['enum'] === undefined) === (fields['type'] === undefined))
    throw new ConfigError(`${path} must have either "enum", with the accepted values, or "type".`);
  const values = fields['enum'] === undefined ? readType(path, fields) : { enum: readEnum(path, fields) };
  const required = readOptional(fields['required'], (flag) => readBoolean(`${path}/required`, flag));
  if (required === true && fields['default'] !== undefined)
    throw new ConfigError(`${path}/default must be left out, because the parameter is required.`);
  return {
    ...values,
    ...(fields['default'] === undefined ? {} : { default: readDefault(path, values, fields['default']) }),
    ...(required === undefined ? {} : { required }),
    ...(fields['description'] === undefined
      ? {}
      : { description: readText(`${path}/description`, fields['description'], DESCRIPTION_MAX_CHARACTERS) }),
  };
}

function readEnum(path: string, fields: Record<string, unknown>): (string | number)[] {
  for (const name of ['minimum', 'maximum']) {
    if (fields[name] !== undefined) throw new ConfigError(`${path}/${name} must be left out beside "enum".`);
  }
  const values = readList(`${path}/enum`, fields['enum'], ENUM_VALUES_MAX);
  const isAllowed = values.every((value) => Number.isFinite(value)) || values.every(isShortText);
  if (!isAllowed)
    throw new ConfigError(
      `${path}/enum must contain only numbers, or only texts of 1 to ${ENUM_TEXT_MAX_CHARACTERS} characters.`,
    );
  if (new Set(values).size !== values.length) throw new ConfigError(`${path}/enum must not contain a value twice.`);
  return values as (string | number)[];
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= ENUM_TEXT_MAX_CHARACTERS;
}

function readType(
  path: string,
  fields: Record<string, unknown>,
): Pick<ParamDefinition, 'type' | 'minimum' | 'maximum'> {
  const type = readChoice(`${path}/type`, fields['type'], TYPES);
  if (type === 'boolean') {
    for (const name of ['minimum', 'maximum']) {
      if (fields[name] !== undefined) throw new ConfigError(`${path}/${name} must be left out for a boolean.`);
    }
    return { type };
  }
  const isText = type === 'string';
  const minimum = readLimit(`${path}/minimum`, type, isText ? (fields['minimum'] ?? 0) : fields['minimum']);
  const maximum = readLimit(`${path}/maximum`, type, fields['maximum']);
  if (minimum > maximum) throw new ConfigError(`${path}/minimum must be at most the maximum.`);
  return { type, minimum, maximum };
}

/** Reads a limit of a number, or of the length of a text. */
function readLimit(path: string, type: 'integer' | 'number' | 'string', value: unknown): number {
  if (type === 'string') return readInteger(path, value, 0, TEXT_MAX_CHARACTERS);
  if (type === 'integer') return readInteger(path, value, -INTEGER_MAX, INTEGER_MAX);
  if (typeof value === 'number' && Math.abs(value) <= INTEGER_MAX) return value;
  throw new ConfigError(`${path} must be a number from -${INTEGER_MAX} to ${INTEGER_MAX}.`);
}

function readDefault(path: string, param: ParamDefinition, value: unknown): Scalar {
  if (isAccepted(param, value)) return value;
  throw new ConfigError(`${path}/default must be a value that the parameter accepts.`);
}

function isAccepted(param: ParamDefinition, value: unknown): value is Scalar {
  const { enum: values, type, minimum = 0, maximum = 0 } = param;
  if (values !== undefined) return values.includes(value as string | number);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'string') return typeof value === 'string' && isWithin(countCharacters(value), minimum, maximum);
  return (
    typeof value === 'number' && (type === 'number' || Number.isInteger(value)) && isWithin(value, minimum, maximum)
  );
}

function isWithin(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}
