import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { DEFAULT_ACCENT, parseBrandColors } from '../../lib/brandSettings.ts';
import { config } from '../../lib/config.ts';
import type { Language } from '../../spec/languages.ts';

/** Content of a message, independent of its form. */
export interface Layout {
  language: Language;
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
export function renderHtml({ language, subject, paragraphs, action, reason, links }: Layout): string {
  const accent = config.BRAND_COLOR === undefined ? DEFAULT_ACCENT : parseBrandColors(config.BRAND_COLOR).light;
  const button = `${FONT};font-size:16px;display:inline-block;padding:10px 18px;border-radius:6px;background:${accent};color:#ffffff;text-decoration:none`;
  const footer = links.flatMap((link) => [' · ', renderLink(link, 'color:#5f6368')]).slice(1);
  const texts = paragraphs.map((paragraph) => <p style={`${TEXT};margin:0 0 16px`}>{paragraph}</p>);
  return `<!doctype html>${renderToString(
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{subject}</title>
      </head>
      <body style="margin:0;padding:24px;background:#f6f6f4">
        <div style="max-width:560px;margin:0 auto">
          <p style={`${TEXT};font-weight:600;color:${accent};margin:0 0 16px`}>{config.BRAND_NAME}</p>
          <div style="background:#ffffff;border:1px solid #dadce0;border-radius:8px;padding:24px">
            <h1 style={`${FONT};font-size:20px;line-height:1.3;color:#202124;margin:0 0 16px`}>{subject}</h1>
            {texts}
            <p style="margin:8px 0 0">{renderLink(action, button)}</p>
          </div>
          <p style={`${SMALL};margin:16px 0 0`}>{reason}</p>
          <p style={`${SMALL};margin:8px 0 0`}>{footer}</p>
        </div>
      </body>
    </html>,
  )}`;
}

const renderLink = ([label, href]: Layout['action'], style: string) => h('a', { href, style }, label);
