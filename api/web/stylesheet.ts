import { readFileSync } from 'node:fs';
import { perService } from '../../shared/lib/serviceScope.ts';
import { buildBrandStyles } from './brand.ts';
import { createVersionedText } from './versionedText.ts';

export const STYLESHEET_PATH = '/assets/style.css';

/** Parts of the stylesheet in the order of their rules, of which later ones override earlier ones. */
const PARTS = ['base.css', 'page.css', 'controls.css', 'content.css', 'dashboard.css', 'accountArea.css', 'media.css'];

/** Stylesheet of all pages. */
export const getStylesheet = perService(() => {
  // `npm run build` copies the folder next to the bundle.
  const parts = PARTS.map((name) => readFileSync(new URL(`./styles/${name}`, import.meta.url), 'utf8'));
  return createVersionedText([...parts, buildBrandStyles()].join(''));
});
