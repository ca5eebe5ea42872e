import { existsSync, readFileSync } from 'node:fs';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { type RenderedGuide, renderGuide, type Section } from './renderGuide.ts';

/** Page of the documentation for customers. */
export interface Guide extends RenderedGuide {
  slug: string;
  title: string;
  /** Its contents, from the index of the documentation. */
  summary: string;
}

/** Tables of docs/README.md whose pages customers need. */
const GROUPS = ['Customers', 'Users of AI assistants'];

/** A row of such a table: a link to a page, and its contents. */
const ROW = /^\| \[([^\]]+)\]\(([a-z-]+)\.md\) \| (.+) \|$/gm;

// `npm run build` copies the folder next to the bundle.
const BUNDLED = new URL('./docs/', import.meta.url);
const FOLDER = existsSync(BUNDLED) ? BUNDLED : new URL('../../../docs/', import.meta.url);

/** Reads a file of the documentation. */
export const readDocument = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

/** Lists the guides in the order of the index. Rendered once, when they are first opened. */
export const listGuides = perService((): readonly Guide[] => {
  const index = readDocument('README.md').split(/^## /m);
  const rows = GROUPS.flatMap((group) => [...(index.find((part) => part.startsWith(group)) ?? '').matchAll(ROW)]);
  const slugs = new Set(rows.map(([, , slug]) => slug as string));
  return rows.map(([, title = '', slug = '', summary = '']) => ({
    slug,
    title,
    summary: summary.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1'),
    ...renderGuide(readDocument(`${slug}.md`), slugs),
  }));
});

export function findGuide(slug: string): Guide | undefined {
  return listGuides().find((guide) => guide.slug === slug);
}

/** Section of a guide that contains the words of a search, with the text around the first of them. */
export interface Match {
  guide: Guide;
  section: Section;
  excerpt: string;
}

const MATCHES_MAX = 30;
const EXCERPT_CHARACTERS = 160;

/** Finds the sections that contain all words of a search, those with a word in their heading first. */
export function searchGuides(query: string): Match[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const matches = listGuides().flatMap((guide) =>
    guide.sections
      .filter((section) => words.every((word) => contains(section.title + section.text, word)))
      .map((section) => ({ guide, section, excerpt: cutExcerpt(section.text, words[0] as string) })),
  );
  const inTitle = ({ section }: Match) => words.some((word) => contains(section.title, word));
  return [...matches.filter(inTitle), ...matches.filter((match) => !inTitle(match))].slice(0, MATCHES_MAX);
}

const contains = (text: string, word: string) => text.toLowerCase().includes(word);

function cutExcerpt(text: string, word: string): string {
  const start = Math.max(0, text.toLowerCase().indexOf(word) - EXCERPT_CHARACTERS / 2);
  const part = text.slice(start, start + EXCERPT_CHARACTERS).trim();
  return `${start > 0 ? '…' : ''}${part}${start + EXCERPT_CHARACTERS < text.length ? '…' : ''}`;
}
