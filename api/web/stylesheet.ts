import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { perService } from '../../shared/lib/serviceScope.ts';

export const STYLESHEET_PATH = '/assets/style.css';

/** Stylesheet of all pages with a hash of its content. Pages link to it by that hash, so browsers can cache it forever. */
export const getStylesheet = perService(() => {
  // `npm run build` copies the file next to the compiled module.
  const text = readFileSync(new URL('./styles.css', import.meta.url), 'utf8');
  return { text, version: createHash('sha256').update(text).digest('hex').slice(0, 16) };
});
