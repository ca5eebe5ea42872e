import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Context } from '../../context.ts';
import { AccountNavigation, type AccountNavigationProps, SignOutForm } from './accountNavigation.tsx';
import { Footer } from './footer.tsx';
import { StaffNavigation, type StaffNavigationProps } from './staffNavigation.tsx';
import { config } from '../../../shared/lib/config.ts';
import { getStylesheet, STYLESHEET_PATH } from '../stylesheet.ts';

export interface PageProps {
  /** Title of the document; the name of the service is appended. */
  title: string;
  body: ComponentChildren;
  /** Narrow column in the middle, for pages with one or two cards. */
  isNarrow?: boolean;
  /** Wide page, for charts side by side. */
  isWide?: boolean;
  /** Shows the navigation of the account area. */
  account?: AccountNavigationProps;
  /** Shows the navigation of the staff console. */
  staff?: StaffNavigationProps;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean;
  /** Address that the browser opens by itself after some seconds. */
  refresh?: { seconds: number; to: string };
}

const FAVICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cg fill='%231f5f8b'%3E%3Crect x='1' y='9' width='3' height='6' rx='1'/%3E%3Crect x='6.5' y='5' width='3' height='10' rx='1'/%3E%3Crect x='12' y='1' width='3' height='14' rx='1'/%3E%3C/g%3E%3C/svg%3E";

/** Sends a complete page. Its headers forbid scripts, other stylesheets, framing and caching. */
export function sendPage(ctx: Context, page: PageProps, status = 200): void {
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('content-security-policy', buildContentSecurityPolicy(page));
  ctx.set('x-frame-options', 'DENY');
  // Not no-referrer: browsers would then send forms with "Origin: null".
  ctx.set('referrer-policy', 'same-origin');
  ctx.set('cache-control', 'no-store');
  ctx.body = `<!doctype html>${renderToString(<PageDocument {...page} />)}`;
}

/** Forms post to our own origin only. To lead to another origin, send a page of its own: see `sendRedirectPage`. */
function buildContentSecurityPolicy({ hasMedia = false }: PageProps): string {
  const media = hasMedia ? new URL(config.CDN_URL).origin : undefined;
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' data:${media === undefined ? '' : ` ${media}`}`,
    ...(media === undefined ? [] : [`media-src ${media}`]),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function PageDocument({ title, body, isNarrow = false, isWide = false, account, staff, refresh }: PageProps): VNode {
  const width = isNarrow ? 'narrow' : isWide ? 'wide' : undefined;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refresh === undefined ? null : <meta http-equiv="refresh" content={`${refresh.seconds};url=${refresh.to}`} />}
        <title>{`${title} · genmeter`}</title>
        <link rel="icon" href={FAVICON} />
        <link rel="stylesheet" href={`${STYLESHEET_PATH}?v=${getStylesheet().version}`} />
      </head>
      <body>
        <header class={width === undefined ? 'top' : `top ${width}`}>
          <a class="brand" href="/account/">
            <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true">
              <rect x="1" y="9" width="3" height="6" rx="1" />
              <rect x="6.5" y="5" width="3" height="10" rx="1" />
              <rect x="12" y="1" width="3" height="14" rx="1" />
            </svg>
            genmeter
          </a>
          {account === undefined ? null : <SignOutForm {...account} />}
          {staff === undefined ? null : <SignOutForm {...staff} />}
        </header>
        {account === undefined ? null : <AccountNavigation {...account} />}
        {staff === undefined ? null : <StaffNavigation {...staff} />}
        <main class={width}>{body}</main>
        <Footer />
      </body>
    </html>
  );
}
