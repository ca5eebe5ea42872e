import { fileURLToPath } from 'node:url';
import { bundlePrograms } from './bundlePrograms.ts';
import { readProcfileFlags } from './procfileFlags.ts';
import { replaceFolder } from './replaceFolder.ts';

/** Builds the programs of a deployment into `dist`: `npm run build`. */
const root = fileURLToPath(new URL('../..', import.meta.url));
await replaceFolder(fileURLToPath(new URL('../../dist', import.meta.url)), (folder) =>
  bundlePrograms({ root, folder, getFlags: readProcfileFlags }),
);
