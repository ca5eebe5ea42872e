import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { perService } from '../../shared/lib/serviceScope.ts';

export const STYLESHEET_PATH = '/assets/style.css';

/** Parts of the stylesheet in the order of their rules, of which later ones override earlier ones. */
const PARTS = ['base.css', 'page.css', 'controls.css', 'content.css', 'dashboard.css', 'accountArea.css', 'media.css'];

/** Stylesheet of all pages with a hash of its content. Pages link to it by that hash, so browsers can cache it forever. */
export const getStylesheet = perService(() => {
  // `npm run build` copies the folder next to the compiled module.
  const text = PARTS.map((name) => readFileSync(new URL(`./styles/${name}`, import.meta.url), 'utf8')).join('');
  return { text, version: createHash('sha256').update(text).digest('hex').slice(0, 16) };
});
