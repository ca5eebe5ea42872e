import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { Marked, type Tokens } from 'marked';
import { config } from '../../../shared/lib/config.ts';

export interface RenderedGuide {
  html: string;
  /** Its sections, in order. The first one has no heading of its own, and an empty id. */
  sections: readonly Section[];
}

export interface Section {
  id: string;
  title: string;
  /** Text without markup, for the search. */
  text: string;
}

const LANGUAGES = { bash, sh: bash, javascript, js: javascript, json, python, typescript, ts: typescript };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Addresses with which the documentation stands for the service. */
const PLACEHOLDERS = /http:\/\/localhost:3000|https:\/\/(?:\$HOST|genmeter\.example\.org)/g;

/**
 * Renders a page of the documentation, with the address of this service. Its first heading is left to the page.
 * @param slugs of the pages that links may lead to. The text of other links stays.
 * @param folder path below which the pages are.
 */
export function renderGuide(markdown: string, slugs: ReadonlySet<string>, folder = '/docs/'): RenderedGuide {
  const sections: Section[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = toFragment(text);
        if (depth === 1) return '';
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = resolveLink(href, slugs, folder);
        return address === null ? text : `<a href="${address}">${text}</a>`;
      },
      code: ({ text, lang }) => `<pre tabindex="0"><code>${highlight(text, lang)}</code></pre>\n`,
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: 'th' | 'td') =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
        const body = rows.map((row) => cells(row, 'td')).join('');
        return `<div class="scrolls wide" tabindex="0" role="group" aria-label="Table"><table><thead>${cells(header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const text = markdown.replaceAll(PLACEHOLDERS, config.BASE_URL);
  for (const part of text.split(/^(?=## )/m)) {
    const [heading = '', ...lines] = part.split('\n');
    const title = heading.replace(/^#+ /, '').replaceAll('`', '');
    sections.push({
      id: heading.startsWith('## ') ? toFragment(title) : '',
      title,
      text: toPlainText(lines.join(' ')),
    });
  }
  return { html: marked.parse(text, { async: false }), sections };
}

function highlight(text: string, lang: string | undefined): string {
  const language = lang !== undefined && hljs.getLanguage(lang) !== undefined ? lang : undefined;
  if (language !== undefined) return hljs.highlight(text, { language }).value;
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Returns the address of a link on the service; null if it leads to a page that is not among them. */
function resolveLink(href: string, slugs: ReadonlySet<string>, folder: string): string | null {
  if (/^(https?:|mailto:|#|\/)/.test(href)) return href;
  const [, slug = '', fragment = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (slugs.has(slug)) return `${folder}${slug}/${fragment}`;
  return href === 'openapi.json' ? '/api/openapi.json' : null;
}

/** Returns the fragment of a heading, as the repository's own links name it. */
function toFragment(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

function toPlainText(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|#]|-{3,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
