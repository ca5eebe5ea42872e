import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { getPathParam } from '../pipeline/requestParameters.ts';
import type { HttpRoute } from '../pipeline/route.ts';
import { buildOpenApiDocument } from './document.ts';
import { buildDocsContentSecurityPolicy, renderDocsPage, SWAGGER_UI_INIT_SCRIPT } from './docsPage.tsx';
import { DOCS_CACHE_CONTROL, setDocumentText } from './servedDocument.ts';

/**
 * Makes `GET /api/openapi.json` serve the document of these routes. It is built at the first request and kept, because
 * the table does not change.
 */
export function serveOpenApiDocument(routes: () => readonly HttpRoute[]): void {
  setDocumentText(perService(() => JSON.stringify(buildOpenApiDocument(routes(), config.BASE_URL))));
}

const SWAGGER_UI_DIR = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Files of the documentation page. */
const DOCS_FILES: Record<string, { type: string; read: () => Promise<Buffer> }> = {
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: () => readFile(join(SWAGGER_UI_DIR, 'swagger-ui.css')) },
  'swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: () => readFile(join(SWAGGER_UI_DIR, 'swagger-ui-bundle.js')),
  },
  'start.js': { type: 'text/javascript; charset=utf-8', read: async () => Buffer.from(SWAGGER_UI_INIT_SCRIPT) },
};

interface CachedFile {
  content: Buffer;
  etag: string;
}

/** Files that were read, with their hashes. Read at the first request, as few processes ever serve the page. */
const cachedFiles = new Map<string, Promise<CachedFile>>();

/** Serves the documentation page, which renders the OpenAPI document. */
export function docsPage(ctx: Context): void {
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('content-security-policy', buildDocsContentSecurityPolicy());
  ctx.set('x-frame-options', 'DENY');
  ctx.set('referrer-policy', 'same-origin');
  ctx.set('cache-control', DOCS_CACHE_CONTROL);
  ctx.body = renderDocsPage();
}

/**
 * Serves a file of the documentation page.
 * @throws ServiceError not_found
 */
export async function docsFile(ctx: Context): Promise<void> {
  const name = getPathParam(ctx, 'file');
  const found = Object.hasOwn(DOCS_FILES, name) ? DOCS_FILES[name] : undefined;
  if (found === undefined)
    throw new ServiceError('not_found', 'Not found. The documentation page has no file with that name.');
  const { content, etag } = await readCachedFile(name, found.read);
  ctx.set('cache-control', DOCS_CACHE_CONTROL);
  ctx.set('etag', etag);
  ctx.type = found.type;
  ctx.status = 200;
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = content;
}

/** Reads a file once. After a failure the next request tries again. */
function readCachedFile(name: string, read: () => Promise<Buffer>): Promise<CachedFile> {
  const known = cachedFiles.get(name);
  if (known !== undefined) return known;
  const reading = read().then((content) => ({
    content,
    etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
  }));
  cachedFiles.set(name, reading);
  reading.catch(() => cachedFiles.delete(name));
  return reading;
}
