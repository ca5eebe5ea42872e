import type { Environment } from './configVariables.ts';

/** Accents of the pages, as `#rrggbb`. */
export interface BrandColors {
  light: string;
  lightHover: string;
  dark: string;
  darkHover: string;
}

/** Accent of the stylesheet, for pictures and messages outside of it. */
export const DEFAULT_ACCENT = '#2f5bea';

/** Backgrounds that the accents have the least contrast with: the page in light colors, a card in dark ones. */
const LIGHT_BACKGROUND = '#f7f7f8';
const DARK_BACKGROUND = '#17191e';
/** Contrast that text needs (WCAG 2.2, 1.4.3), and that of an accent that is derived for dark colors. */
const TEXT_CONTRAST = 4.5;
const DERIVED_CONTRAST = 7;
const HOVER_SHARE = 0.25;

/** Parses BRAND_COLOR: the accent for light colors, and optionally that for dark colors, which is derived otherwise. */
export function parseBrandColors(text: string): BrandColors {
  const [light = '', dark = lighten(light)] = text.toLowerCase().split(/ *, */);
  return {
    light,
    lightHover: mixColors(light, '#000000', HOVER_SHARE),
    dark,
    darkHover: mixColors(dark, '#ffffff', HOVER_SHARE),
  };
}

/** Checks that the accents are readable on the backgrounds of the pages, and that the logo can be loaded. */
export function validateBrandSettings({ BRAND_COLOR, BRAND_LOGO_URL, NODE_ENV }: Environment): string[] {
  const problems: string[] = [];
  if (NODE_ENV === 'production' && BRAND_LOGO_URL?.startsWith('http:') === true)
    problems.push('BRAND_LOGO_URL must begin with https:// with NODE_ENV=production: browsers load nothing else.');
  if (BRAND_COLOR === undefined) return problems;
  const { light, dark } = parseBrandColors(BRAND_COLOR);
  return [
    ...problems,
    ...describeContrast(light, LIGHT_BACKGROUND, 'light', 'darker'),
    ...describeContrast(dark, DARK_BACKGROUND, 'dark', 'lighter'),
  ];
}

function describeContrast(color: string, background: string, name: string, advice: string): string[] {
  const contrast = getContrast(color, background);
  if (contrast >= TEXT_CONTRAST) return [];
  // Rounded down, so that an insufficient contrast never reads as a sufficient one.
  const shown = (Math.floor(contrast * 10) / 10).toFixed(1);
  return [
    `BRAND_COLOR ${color} has a contrast of ${shown}:1 with the ${name} background, and text needs ${TEXT_CONTRAST}:1. Choose a ${advice} color.`,
  ];
}

/** Returns the contrast ratio of two colors (WCAG 2.2), from 1 to 21. */
export function getContrast(first: string, second: string): number {
  const [darker = 0, lighter = 0] = [getLuminance(first), getLuminance(second)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function getLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = toChannels(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Mixes a color with white until it is readable on the dark background. */
function lighten(color: string): string {
  const shares = Array.from({ length: 21 }, (_, step) => step / 20);
  const mixed = shares.map((share) => mixColors(color, '#ffffff', share));
  return mixed.find((candidate) => getContrast(candidate, DARK_BACKGROUND) >= DERIVED_CONTRAST) ?? '#ffffff';
}

function mixColors(color: string, other: string, share: number): string {
  const others = toChannels(other);
  const channels = toChannels(color).map((channel, index) =>
    Math.round(channel + ((others[index] ?? 0) - channel) * share),
  );
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Splits `#rrggbb` into red, green and blue, from 0 to 255. */
function toChannels(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
}
