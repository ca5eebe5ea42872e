import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { perService } from '../../shared/lib/serviceScope.ts';
import { buildBrandStyles } from './brand.ts';

/** File of the pages. */
interface Asset {
  type: string;
  content: string | Buffer;
  /** Hash of the content, by which pages name the file, so that browsers can keep it forever. */
  version: string;
}

const { resolve } = createRequire(import.meta.url);

/** Parts of the stylesheet in the order of their rules, of which later ones override earlier ones. */
const STYLES = [
  'base.css',
  'header.css',
  'page.css',
  'controls.css',
  'content.css',
  'dashboard.css',
  'accountArea.css',
  'media.css',
];

/** Parts for the API reference, whose content has a stylesheet of its own, which the other parts would change. */
const REFERENCE_STYLES = ['base.css', 'header.css', 'reference.css'];

/** Parts of the typeface, each with the characters that it has. Others are shown in the typeface of the system. */
const FONTS: Readonly<Record<string, string>> = {
  'inter-latin.woff2':
    'U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD',
  'inter-latin-ext.woff2':
    'U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF',
};

/** Files of the pages by their names below `/assets/`. */
const listAssets = perService((): ReadonlyMap<string, Asset> => {
  const fonts = Object.keys(FONTS).map((name) => {
    const file = name.replace('.woff2', '-wght-normal.woff2');
    const content = readFileSync(resolve(`@fontsource-variable/inter/files/${file}`));
    return [name, createAsset('font/woff2', content)] as const;
  });
  const script = readFileSync(new URL('./scripts/account.js', import.meta.url), 'utf8');
  const faces = fonts.map(([name, { version }]) => buildFontFace(name, version));
  const createStyles = (parts: readonly string[]) =>
    createAsset('text/css; charset=utf-8', [...faces, ...parts.map(readStyles), buildBrandStyles()].join(''));
  return new Map([
    ...fonts,
    ['style.css', createStyles(STYLES)],
    ['reference.css', createStyles(REFERENCE_STYLES)],
    ['account.js', createAsset('text/javascript; charset=utf-8', script)],
  ]);
});

// `npm run build` copies the folders next to the bundle.
const readStyles = (name: string) => readFileSync(new URL(`./styles/${name}`, import.meta.url), 'utf8');

function createAsset(type: string, content: string | Buffer): Asset {
  return { type, content, version: createHash('sha256').update(content).digest('hex').slice(0, 16) };
}

function buildFontFace(name: string, version: string): string {
  return `@font-face{font-family:"Inter Variable";font-weight:100 900;font-display:swap;src:url(${name}?v=${version}) format("woff2");unicode-range:${FONTS[name]}}\n`;
}

export function findAsset(name: string): Asset | undefined {
  return listAssets().get(name);
}

/** Returns the address of a file with its version. */
export function getAssetPath(name: 'style.css' | 'reference.css' | 'account.js' | 'inter-latin.woff2'): string {
  return `/assets/${name}?v=${findAsset(name)?.version}`;
}

/** Values of a custom property of the stylesheet in both color schemes. Most are the same. */
export interface Token {
  name: string;
  light: string;
  dark: string;
}

/** Lists the custom properties of the stylesheet in their order, with the colors of the brand. */
export function listTokens(): Token[] {
  const style = String(findAsset('style.css')?.content);
  const values = { light: new Map<string, string>(), dark: new Map<string, string>() };
  for (const [, query = '', rules = ''] of style.matchAll(/(@media[^{]*dark[^{]*\{\s*)?:root\s*\{([^}]*)\}/g))
    for (const [, name = '', value = ''] of rules.matchAll(/--([a-z-]+):\s*([^;}]+)/g))
      values[query === '' ? 'light' : 'dark'].set(name, value.trim());
  return [...values.light].map(([name, light]) => ({ name, light, dark: values.dark.get(name) ?? light }));
}
