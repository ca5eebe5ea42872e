import Type from 'typebox';
import { KEY_MODES } from '../../shared/spec/testMode.ts';
import { isUuid } from '../../shared/lib/uuid.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Parameters } from '../../shared/lib/validation/queryParser.ts';
import type { Context } from '../context.ts';

/** Returns a parameter of the path; empty if the route does not have it. */
export const getPathParam = (ctx: Context, name: string): string =>
  (ctx as unknown as { params: Record<string, string> }).params[name] ?? '';

/**
 * Parses a uuid in the path. An invalid one gets the same code as an unknown one.
 * @throws ServiceError not_found
 */
export function parseUuidParam(ctx: Context, name = 'uuid'): string {
  const uuid = getPathParam(ctx, name);
  if (!isUuid(uuid)) throw new ServiceError('not_found', 'Not found. The path must contain a valid UUID.');
  return uuid.toLowerCase();
}

/** Parameter that chooses between what live and what test keys have created. */
export const ModeParameter = Type.Enum([...KEY_MODES], { default: 'live', expected: 'live or test' });

/** Returns the parameters of a form without the fields that were left empty. */
export function dropEmptyFields(parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ''));
}
