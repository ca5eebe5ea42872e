import { DEFAULT_ACCENT, parseBrandColors } from '../../lib/brandSettings.ts';
import { config } from '../../lib/config.ts';

/** Content of a message, independent of its form. */
export interface Layout {
  locale: string;
  subject: string;
  paragraphs: string[];
  action: [label: string, address: string];
  reason: string;
  links: [label: string, address: string][];
}

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
const TEXT = `${FONT};font-size:16px;line-height:1.5;color:#202124`;
const SMALL = `${FONT};font-size:13px;line-height:1.5;color:#5f6368`;

/** Renders a message as HTML that mail programs show as it is: inline styles, no images, no scripts. */
export function renderHtml({ locale, subject, paragraphs, action, reason, links }: Layout): string {
  const accent = config.BRAND_COLOR === undefined ? DEFAULT_ACCENT : parseBrandColors(config.BRAND_COLOR).light;
  const [label, address] = action.map(escapeHtml);
  const footer = links.map(
    ([name, target]) => `<a href="${escapeHtml(target)}" style="color:#5f6368">${escapeHtml(name)}</a>`,
  );
  return [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(subject)}</title></head>`,
    '<body style="margin:0;padding:24px;background:#f6f6f4">',
    '<div style="max-width:560px;margin:0 auto">',
    `<p style="${TEXT};font-weight:600;color:${accent};margin:0 0 16px">${escapeHtml(config.BRAND_NAME)}</p>`,
    '<div style="background:#ffffff;border:1px solid #dadce0;border-radius:8px;padding:24px">',
    `<h1 style="${FONT};font-size:20px;line-height:1.3;color:#202124;margin:0 0 16px">${escapeHtml(subject)}</h1>`,
    ...paragraphs.map((paragraph) => `<p style="${TEXT};margin:0 0 16px">${escapeHtml(paragraph)}</p>`),
    `<p style="margin:8px 0 0"><a href="${address}" style="${FONT};font-size:16px;display:inline-block;padding:10px 18px;border-radius:6px;background:${accent};color:#ffffff;text-decoration:none">${label}</a></p>`,
    '</div>',
    `<p style="${SMALL};margin:16px 0 0">${escapeHtml(reason)}</p>`,
    `<p style="${SMALL};margin:8px 0 0">${footer.join(' · ')}</p>`,
    '</div></body></html>',
  ].join('\n');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
