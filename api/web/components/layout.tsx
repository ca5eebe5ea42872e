import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Context } from '../../context.ts';
import { ACCOUNT_SCRIPT_PATH, getAccountScript } from '../accountScript.ts';
import { getBrand } from '../brand.ts';
import { AreaNavigation, type AreaNavigationProps, SignOutForm } from './areaNavigation.tsx';
import { Footer } from './footer.tsx';
import { config } from '../../../shared/lib/config.ts';
import { getStylesheet, STYLESHEET_PATH } from '../stylesheet.ts';

export interface PageProps {
  /** Title of the document; the name of the service is appended. */
  title: string;
  body: ComponentChildren;
  /** Narrow column in the middle, for pages with one or two cards. */
  isNarrow?: boolean;
  /** Wide page, for charts side by side. */
  isWide?: boolean | undefined;
  /** Navigation of the area that the page belongs to. */
  navigation?: AreaNavigationProps;
  /** Loads the script of the account area. */
  hasScript?: boolean | undefined;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean | undefined;
  /** Address that the browser opens by itself after some seconds. */
  refresh?: { seconds: number; to: string };
}

/** Fragment of the skip link. */
const CONTENT_ID = 'content';

/**
 * Sends a complete page. Its headers forbid framing, caching, other stylesheets, and scripts, except for that of the
 * account area.
 */
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
function buildContentSecurityPolicy(page: PageProps): string {
  const media = page.hasMedia === true ? new URL(config.CDN_URL).origin : undefined;
  const { logoUrl } = getBrand();
  const images = ["'self'", 'data:', media, logoUrl === undefined ? undefined : new URL(logoUrl).origin];
  return [
    "default-src 'none'",
    ...(runsScript(page) ? ["script-src 'self'", "connect-src 'self'"] : []),
    "style-src 'self'",
    `img-src ${[...new Set(images.filter((source) => source !== undefined))].join(' ')}`,
    ...(media === undefined ? [] : [`media-src ${media}`]),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** Pages for visitors, such as sign-in and consent, run no scripts. */
function runsScript({ hasScript, refresh }: PageProps): boolean {
  return hasScript === true || isReloading(refresh);
}

/** Returns true for a page that waits, as opposed to one that leads to another page at once. */
function isReloading(refresh: PageProps['refresh']): boolean {
  return refresh !== undefined && refresh.seconds > 0;
}

function PageDocument(page: PageProps): VNode {
  const { title, body, isNarrow = false, isWide = false, navigation, refresh } = page;
  const width = isNarrow ? 'narrow' : isWide ? 'wide' : undefined;
  const reload = isReloading(refresh) ? refresh : undefined;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <RefreshTag refresh={refresh} />
        <title>{`${title} · ${getBrand().name}`}</title>
        <link rel="icon" href={getBrand().logoUrl ?? buildFavicon(getBrand().accent)} />
        <link rel="stylesheet" href={`${STYLESHEET_PATH}?v=${getStylesheet().version}`} />
        {runsScript(page) ? (
          <script type="module" src={`${ACCOUNT_SCRIPT_PATH}?v=${getAccountScript().version}`} />
        ) : null}
      </head>
      <body>
        {navigation === undefined ? null : (
          <a class="skip" href={`#${CONTENT_ID}`}>
            Skip to content
          </a>
        )}
        <header class={joinClasses('top', width)}>
          <a class="brand" href="/account/">
            <Logo />
            {getBrand().name}
          </a>
          {navigation === undefined ? null : <SignOutForm {...navigation} />}
        </header>
        {navigation === undefined ? null : <AreaNavigation {...navigation} width={width} />}
        <main
          id={CONTENT_ID}
          class={width}
          tabIndex={navigation === undefined ? undefined : -1}
          data-reload-to={reload?.to}
          data-reload-seconds={reload?.seconds}
        >
          {body}
        </main>
        <Footer width={width} />
      </body>
    </html>
  );
}

/** Opens the next address. Where the script of the page does it, this is for browsers that run none. */
function RefreshTag({ refresh }: Pick<PageProps, 'refresh'>): VNode | null {
  if (refresh === undefined) return null;
  const tag = <meta http-equiv="refresh" content={`${refresh.seconds};url=${refresh.to}`} />;
  return isReloading(refresh) ? <noscript>{tag}</noscript> : tag;
}

function Logo(): VNode {
  const { logoUrl } = getBrand();
  if (logoUrl !== undefined) return <img src={logoUrl} width="24" height="24" alt="" />;
  return (
    <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="1" y="9" width="3" height="6" rx="1" />
      <rect x="6.5" y="5" width="3" height="10" rx="1" />
      <rect x="12" y="1" width="3" height="14" rx="1" />
    </svg>
  );
}

function buildFavicon(accent: string): string {
  return `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cg fill='%23${accent.slice(1)}'%3E%3Crect x='1' y='9' width='3' height='6' rx='1'/%3E%3Crect x='6.5' y='5' width='3' height='10' rx='1'/%3E%3Crect x='12' y='1' width='3' height='14' rx='1'/%3E%3C/g%3E%3C/svg%3E`;
}

function joinClasses(...names: (string | undefined)[]): string {
  return names.filter((name) => name !== undefined).join(' ');
}
