import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ICON_NAMES } from '../../api/web/components/icon.tsx';
import { listTokens } from '../../api/web/assets.ts';
import { useStaffService } from '../harness/staffConsole.ts';

/** Sections of the page, each with the markup of the components that it shows. */
const STRUCTURE: Record<string, readonly RegExp[]> = {
  colors: [/--accent<\/code>/],
  type: [/--figure<\/code>/],
  spacing: [/--gap<\/code>/],
  icons: [/<svg class="icon"/],
  buttons: [/<button type="button" class="main"/, /class="main danger"/, /class="slight"/, /<a class="button"/],
  fields: [
    /<div class="field">/,
    /type="date"/,
    /<select /,
    /<textarea /,
    /type="checkbox"/,
    /aria-invalid="true"/,
    /class="hint"/,
  ],
  notices: [/class="notice good"/, /class="notice warn"/, /class="notice bad"/],
  badges: [/class="tag"/, /class="tag off"/, /class="tag warn"/],
  cards: [/<div class="heading">/, /class="figure"/, /<dl>/],
  tables: [/class="scrolls wide"/, /<tfoot>/, /class="number"/],
  filters: [/class="inline filters"/, /64 match\./, /rel="prev"/, /rel="next"/],
  charts: [/<figure class="plot">/, /class="legend"/, /class="chart"/, /class="partial|partial"/],
  copy: [/data-copy="design-copy"/],
  empty: [/<p class="quiet">No API keys yet/],
};

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Relative luminance of WCAG 2. */
function getLuminance(color: string): number {
  const channels = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = channels.map((value) =>
    value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function getContrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [getLuminance(one), getLuminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

describe('the design page', () => {
  const { console } = useStaffService();
  let html: string;
  before(async () => {
    html = (await console.visit('/admin/design/', 'support')).text;
  });

  it('shows every component in its section, under the policy of all pages', () => {
    const sections = html.split('<section class="card" aria-labelledby="').slice(1);
    const ids = sections.map((section) => section.split('"')[0] as string).filter((id) => !id.startsWith('design-'));
    expect(ids).to.deep.equal(Object.keys(STRUCTURE));
    for (const [id, parts] of Object.entries(STRUCTURE)) {
      const start = html.indexOf(`aria-labelledby="${id}"`);
      const next = ids[ids.indexOf(id) + 1];
      const section = html.slice(start, next === undefined ? undefined : html.indexOf(`aria-labelledby="${next}"`));
      for (const part of parts) expect(section, id).to.match(part);
      expect(section, id).to.match(/<p class="quiet">[A-Z][^<]{20,}\.<\/p>/);
    }
    expect(html).to.not.match(/<script|<style| style=| on\w+=/i);
  });

  it('shows every icon, and every token of the stylesheet in both color schemes', () => {
    for (const name of ICON_NAMES) expect(html).to.include(`</svg> ${name}</li>`);
    const [light = '', dark = ''] = read('api/web/styles/base.css').split('@media (prefers-color-scheme: dark)');
    const tokens = listTokens();
    for (const [scheme, rules] of Object.entries({ light, dark: dark.split('\n}\n')[0] ?? '' }))
      for (const [, name, value] of rules.matchAll(/--([a-z-]+): ([^;]+);/g)) {
        expect(tokens.find((token) => token.name === name)?.[scheme as 'light' | 'dark'], name).to.equal(value);
        expect(html).to.include(`<code>--${name}</code>`).and.to.include(String(value));
      }
  });

  it('has text colors whose contrast with their ground is at least 4.5 in both color schemes', () => {
    const tokens = new Map(listTokens().map((token) => [token.name, token]));
    const pairs = [
      ...['text', 'quiet', 'accent', 'good', 'warn', 'bad'].flatMap((name) => [
        [name, 'card'],
        [name, 'ground'],
      ]),
      ['accent-text', 'accent'],
      ['bad-ground', 'bad'],
      ...['good', 'warn', 'bad'].map((name) => [name, `${name}-ground`]),
      ['text', 'code'],
    ] as [string, string][];
    for (const [text, ground] of pairs)
      for (const scheme of ['light', 'dark'] as const) {
        const contrast = getContrast(tokens.get(text)?.[scheme] ?? '', tokens.get(ground)?.[scheme] ?? '');
        expect(contrast, `${text} on ${ground}, ${scheme}`).to.be.at.least(4.5);
      }
  });
});
