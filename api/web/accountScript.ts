import { readFileSync } from 'node:fs';
import { perService } from '../../shared/lib/serviceScope.ts';
import { createVersionedText } from './versionedText.ts';

export const ACCOUNT_SCRIPT_PATH = '/assets/account.js';

/** Script of the account pages, which work without it. */
export const getAccountScript = perService(() =>
  // `npm run build` copies the folder next to the bundle.
  createVersionedText(readFileSync(new URL('./scripts/account.js', import.meta.url), 'utf8')),
);
