import { DEFAULT_ACCENT, parseBrandColors } from '../../shared/lib/brandSettings.ts';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';

/** Name and appearance of the service on pages. */
export const getBrand = perService(() => ({
  name: config.BRAND_NAME,
  /** The name in file names and in settings of assistants. */
  slug: toSlug(config.BRAND_NAME),
  logoUrl: config.BRAND_LOGO_URL,
  /** Origin that pages may load the logo from. */
  logoOrigin: config.BRAND_LOGO_URL === undefined ? undefined : new URL(config.BRAND_LOGO_URL).origin,
  accent: config.BRAND_COLOR === undefined ? DEFAULT_ACCENT : parseBrandColors(config.BRAND_COLOR).light,
}));

/** Builds the rules that replace the accents of the stylesheet. Empty without BRAND_COLOR. */
export function buildBrandStyles(): string {
  if (config.BRAND_COLOR === undefined) return '';
  const { light, lightHover, dark, darkHover } = parseBrandColors(config.BRAND_COLOR);
  return [
    `:root{--accent:${light};--accent-hover:${lightHover}}`,
    `@media (prefers-color-scheme:dark){:root{--accent:${dark};--accent-hover:${darkHover}}}`,
    '',
  ].join('\n');
}

function toSlug(name: string): string {
  // Accents are dropped, not their letters.
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const words = plain.match(/[a-z0-9]+/g);
  return words === null ? 'genmeter' : words.join('-');
}
