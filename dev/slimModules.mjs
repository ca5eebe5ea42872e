/** Removes from `node_modules` what no running process reads, for the container image. */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Optional peers that npm does not prune, and builds for browsers. */
const UNUSED = [
  'typescript',
  '@typescript',
  '@ffmpeg/core/dist/esm/ffmpeg-core.wasm',
  'swagger-ui-dist/swagger-ui-es-bundle.js',
  'mediabunny/dist/bundles',
  '@mediabunny/aac-encoder/dist/modules',
];
/** Types, source maps, sources, documentation, and fonts that the sample upstream does not use. Licences stay. */
const UNUSED_FILES =
  /\.(d\.[cm]?ts|map|flow|tsbuildinfo)$|^(readme|changelog|history)(\.\w+)?$|^DejaVu(?!Sans(-Bold)?\.ttf$)/i;

const folder = process.argv[2] ?? 'node_modules';
for (const name of UNUSED) rmSync(join(folder, name), { recursive: true, force: true });
let bytes = 0;
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !UNUSED_FILES.test(entry.name)) continue;
  bytes += statSync(path).size;
  rmSync(path);
}
console.log(`removed ${Math.round(bytes / 1e6)} MB of types, source maps and documentation`);
