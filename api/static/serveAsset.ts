import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { getPathParam } from '../pipeline/requestParameters.ts';
import { findAsset } from '../web/assets.ts';

/**
 * Serves a file of the pages. It never changes at the address that contains its version.
 * @throws ServiceError not_found
 */
export function asset(ctx: Context): void {
  const file = getPathParam(ctx, 'file');
  const found = findAsset(file);
  if (found === undefined) throw new ServiceError('not_found', 'Not found. There is no file with this name.');
  const { type, content, version } = found;
  ctx.set('cache-control', ctx.query['v'] === version ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.type = type;
  ctx.body = content;
}
