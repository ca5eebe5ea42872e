import { readFileSync } from 'node:fs';
import { parseBrandColors } from '../../../shared/lib/brandSettings.ts';
import { config } from '../../../shared/lib/config.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { listOfferedModels } from '../tools/modelTexts.ts';

/*
 * The MCP Apps extension (SEP-1865, version 2026-01-26): a page that the client shows in the chat beside the result of
 * a tool. Offered to every client: some that show it do not declare the extension, and others ignore it.
 */

export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';
const APP_MIME_TYPE = 'text/html;profile=mcp-app';

/** URI of the page that shows a generation. */
export const GENERATION_VIEW_URI = 'ui://genmeter/generation.html';

/** Metadata of the tools whose results the page shows. */
export const GENERATION_VIEW_TOOL_META = { ui: { resourceUri: GENERATION_VIEW_URI } };

/** Content of the resource. It is the same for every account: the client passes the results of tools to the page. */
export const getGenerationView = perService(() => ({
  uri: GENERATION_VIEW_URI,
  mimeType: APP_MIME_TYPE,
  text: buildPage(),
  // Outputs are all that the page loads. The client forbids every other origin.
  _meta: { ui: { csp: { resourceDomains: [new URL(config.CDN_URL).origin] }, prefersBorder: true } },
}));

/** Matches what connects the modules of the script, which are one in the page. */
const MODULE_SYNTAX = /^export |^import .*;$/gm;

/** Builds a page without references to other files. */
function buildPage(): string {
  const parts: Record<string, string> = {
    styles: readPart('page.css') + buildAccent(),
    offersVideo: String(listOfferedModels('video').length > 0),
    script: [readPart('host.js'), readPart('page.js')].join('').replaceAll(MODULE_SYNTAX, ''),
  };
  return readPart('page.html').replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? '');
}

/** Builds the rule that replaces the accent. Not by a media query: the client chooses the theme. */
function buildAccent(): string {
  if (config.BRAND_COLOR === undefined) return '';
  const { light, dark } = parseBrandColors(config.BRAND_COLOR);
  return `:root{--accent:light-dark(${light},${dark})}\n`;
}

function readPart(name: string): string {
  // `npm run build` copies the folder next to the bundle.
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');
}
