import { queryParser } from '../../shared/lib/validate.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { PageQuery } from '../schemas.ts';

const parsePage = queryParser(PageQuery);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The page that a list request asks for.
 * @throws ServiceError validation_error
 */
export function pageOf(ctx: Context): number {
  return parsePage({ ...ctx.query }).page;
}

/**
 * The uuid in the path. What is none names nothing, so that it is answered like a missing one.
 * @throws ServiceError not_found
 */
export function uuidOf(ctx: Context): string {
  const uuid = (ctx as unknown as { params: { uuid: string } }).params.uuid;
  if (!UUID.test(uuid)) throw new ServiceError('not_found', 'The address ends in something that is no uuid.');
  return uuid.toLowerCase();
}
