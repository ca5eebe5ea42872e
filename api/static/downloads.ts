import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { getPathParam } from '../pipeline/requestParameters.ts';

/** Time after which a client asks again, since a deployment replaces the files. */
const CACHE_SECONDS = 300;

interface Download {
  content: Buffer;
  etag: string;
}

// `npm run build` writes the folder beside that of the bundles.
const BUILT = new URL('../downloads/', import.meta.url);
const FOLDER = existsSync(BUILT) ? BUILT : new URL('../../dist/downloads/', import.meta.url);

/** Packages for customers by their names, each tarball also by its name without the version. */
const listDownloads = perService((): ReadonlyMap<string, Download> => {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER) : [];
  return new Map(
    names.flatMap((name) => {
      const content = readFileSync(new URL(name, FOLDER));
      const download = { content, etag: createHash('sha256').update(content).digest('hex').slice(0, 32) };
      return [name, name.replace(/-\d[^-]*\.(tgz|tar\.gz)$/, '.$1')].map((one) => [one, download] as const);
    }),
  );
});

/**
 * `GET /downloads/:file`: serves a package for customers.
 * @throws ServiceError not_found
 */
export function download(ctx: Context): void {
  const file = getPathParam(ctx, 'file');
  const found = listDownloads().get(file);
  if (found === undefined) throw notFoundError();
  ctx.status = 200;
  ctx.set('cache-control', `public, max-age=${CACHE_SECONDS}`);
  ctx.etag = found.etag;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = 'application/octet-stream';
  ctx.body = found.content;
}

function notFoundError(): ServiceError {
  const names = [...listDownloads().keys()].toSorted().join(', ');
  const advice =
    names === '' ? 'The packages are not built: run npm run build, then restart.' : `The files are: ${names}.`;
  return new ServiceError('not_found', `Not found. ${advice}`);
}
