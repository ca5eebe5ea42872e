import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundlePrograms } from './bundlePrograms.ts';
import { readProcfileFlags } from './procfileFlags.ts';

/** Builds the programs of a deployment into `dist`: `npm run build`. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = fileURLToPath(new URL('../../dist', import.meta.url));
rmSync(folder, { recursive: true, force: true });
await bundlePrograms({ root, folder, getFlags: readProcfileFlags });
