import { ServiceError } from '../../shared/spec/errors.ts';
import { WAIT_MAX_SECONDS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';

/** Few enough digits for the number to be exact. */
const PAGE_PATTERN = /^0*[1-9][0-9]{0,14}$/;
const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The page that a list request asks for.
 * @throws ServiceError validation_error
 */
export function parsePage(ctx: Context): number {
  const { page = '1' } = ctx.query;
  if (typeof page === 'string' && PAGE_PATTERN.test(page)) return Number(page);
  throw new ServiceError('validation_error', 'page must be a whole number, 1 or more.');
}

/**
 * How many seconds the reader of a generation is ready to wait for its end; 0 unless it says so.
 * @throws ServiceError validation_error
 */
export function parseWaitSeconds(ctx: Context): number {
  const { wait = '0' } = ctx.query;
  if (typeof wait === 'string' && /^\d{1,2}$/.test(wait) && Number(wait) <= WAIT_MAX_SECONDS) return Number(wait);
  throw new ServiceError('validation_error', `wait must be a whole number of seconds, from 0 to ${WAIT_MAX_SECONDS}.`);
}

/**
 * The uuid in the path. What is none names nothing, so that it is answered like a missing one.
 * @throws ServiceError not_found
 */
export function parseUuidParam(ctx: Context): string {
  const uuid = (ctx as unknown as { params: { uuid: string } }).params.uuid;
  if (!UUID_PATTERN.test(uuid))
    throw new ServiceError('not_found', 'There is no such thing: the address must have its uuid.');
  return uuid.toLowerCase();
}
