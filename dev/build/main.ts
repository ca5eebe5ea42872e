import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlePrograms } from './bundlePrograms.ts';
import { packPackages } from './packPackages.ts';
import { readProcfileFlags } from './procfileFlags.ts';
import { replaceFolder } from './replaceFolder.ts';

/** Builds the programs of a deployment, and the packages that it offers, into `dist`: `npm run build`. */
const root = fileURLToPath(new URL('../..', import.meta.url));
await replaceFolder(fileURLToPath(new URL('../../dist', import.meta.url)), async (folder) => {
  await bundlePrograms({ root, folder, getFlags: readProcfileFlags });
  await packPackages(root, join(folder, 'downloads'));
});
