import { isStorable, STORABLE_TEXT } from '../../lib/validation/storableText.ts';
import { ServiceError } from '../../spec/errors.ts';
import {
  METADATA_FILTERS_MAX,
  METADATA_KEY_MAX_CHARACTERS,
  METADATA_PAIRS_MAX,
  METADATA_VALUE_MAX_CHARACTERS,
} from '../../spec/limits.ts';

/** Pairs of strings that the owner of a generation has attached to it. */
export type Metadata = Readonly<Record<string, string>>;

/**
 * Checks the metadata of a create request.
 * @returns undefined for an empty object, which is stored as no metadata.
 * @throws ServiceError validation_error that names the pair.
 */
export function parseMetadata(input: object): Metadata | undefined {
  const pairs = Object.entries(input);
  if (pairs.length > METADATA_PAIRS_MAX)
    throw metadataError('metadata', `must have at most ${METADATA_PAIRS_MAX} pairs`);
  const checked = pairs.map(([key, value]) => checkPair(key, value));
  return checked.length === 0 ? undefined : Object.fromEntries(checked);
}

const FILTER_NAME = /^metadata\[(.*)\]$/s;

/**
 * Parses the `metadata[key]=value` parameters of a list. Other parameters are ignored.
 * @returns undefined without such a parameter.
 * @throws ServiceError validation_error that names the parameter.
 */
export function parseMetadataFilter(parameters: Readonly<Record<string, unknown>>): Metadata | undefined {
  const pairs = listMetadataFilters(parameters).map((name) => {
    const key = FILTER_NAME.exec(name)?.[1] as string;
    return checkPair(key, parameters[name]);
  });
  if (pairs.length > METADATA_FILTERS_MAX)
    throw metadataError('metadata', `can be given for at most ${METADATA_FILTERS_MAX} keys`);
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

/** Lists the names of the parameters that filter by metadata, as they were sent. */
export function listMetadataFilters(parameters: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(parameters).filter((name) => FILTER_NAME.test(name));
}

function checkPair(key: string, value: unknown): [key: string, value: string] {
  if (!isStorable(key) || !hasLength(key, 1, METADATA_KEY_MAX_CHARACTERS)) {
    const detail = `must have keys of 1 to ${METADATA_KEY_MAX_CHARACTERS} characters of ${STORABLE_TEXT}`;
    throw metadataError('metadata', detail);
  }
  if (typeof value === 'string' && isStorable(value) && hasLength(value, 0, METADATA_VALUE_MAX_CHARACTERS))
    return [key, value];
  const detail = `must be one string of at most ${METADATA_VALUE_MAX_CHARACTERS} characters of ${STORABLE_TEXT}`;
  throw metadataError(`metadata[${key}]`, detail);
}

function metadataError(field: string, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field} ${problem}.`, { field });
}

function hasLength(text: string, min: number, max: number): boolean {
  const { length } = Array.from(text);
  return length >= min && length <= max;
}
