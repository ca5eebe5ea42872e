import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { getLanguage } from '../../language.ts';
import { getAssetPath } from '../assets.ts';
import { getBrand } from '../brand.ts';
import { t } from '../texts.ts';
import { AreaNavigation, type AreaNavigationProps, MenuButton } from './areaNavigation.tsx';
import { Brand, Favicon } from './brand.tsx';
import { Footer } from './footer.tsx';
import { CsrfToken } from './form.tsx';
import { config } from '../../../shared/lib/config.ts';

export interface PageProps {
  /** Title of the document; the name of the service is appended. */
  title: string;
  body: ComponentChildren;
  /** Narrow column in the middle, for pages with one or two cards. */
  isNarrow?: boolean;
  /** Links beside the name of the service, on pages that are open to all. */
  topLinks?: ComponentChildren;
  /** Navigation of the area that the page belongs to. */
  navigation?: AreaNavigationProps;
  /** Heading of a page of an area, and what is beside it, in the same place on each page. */
  heading?: string;
  corner?: ComponentChildren;
  /** Loads the script of the account area. */
  hasScript?: boolean | undefined;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean | undefined;
  /** Address that the browser opens by itself after some seconds. */
  refresh?: { seconds: number; to: string } | undefined;
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
  ctx.vary('accept-language');
  const document = (
    <CsrfToken.Provider value={createCsrfToken(ctx)}>
      <PageDocument {...page} />
    </CsrfToken.Provider>
  );
  ctx.body = `<!doctype html>${renderToString(document)}`;
}

/** Forms post to our own origin only. To lead to another origin, send a page of its own: see `sendRedirectPage`. */
function buildContentSecurityPolicy(page: PageProps): string {
  const media = page.hasMedia === true ? new URL(config.CDN_URL).origin : undefined;
  const images = ["'self'", 'data:', media, getBrand().logoOrigin];
  return [
    "default-src 'none'",
    ...(runsScript(page) ? ["script-src 'self'", "connect-src 'self'"] : []),
    "style-src 'self'",
    "font-src 'self'",
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
  const { title, body, isNarrow = false, topLinks, navigation, refresh } = page;
  return (
    <html lang={getLanguage()}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <RefreshTag refresh={refresh} />
        <title>{`${title} · ${getBrand().name}`}</title>
        <Favicon />
        <link
          rel="preload"
          href={getAssetPath('inter-latin.woff2')}
          as="font"
          type="font/woff2"
          crossOrigin="anonymous"
        />
        <link rel="stylesheet" href={getAssetPath('style.css')} />
        {runsScript(page) ? <script type="module" src={getAssetPath('account.js')} /> : null}
      </head>
      {navigation === undefined ? (
        <body class={isNarrow ? 'narrow' : topLinks === undefined ? undefined : 'front'}>
          {topLinks === undefined ? null : <SkipLink />}
          <header class="top">
            <Brand href="/" />
            {topLinks}
          </header>
          <Main refresh={refresh}>{body}</Main>
          <Footer />
        </body>
      ) : (
        <AreaBody {...page} navigation={navigation} />
      )}
    </html>
  );
}

function AreaBody({
  navigation,
  heading,
  corner,
  body,
  refresh,
}: PageProps & { navigation: AreaNavigationProps }): VNode {
  return (
    <body class="area">
      <SkipLink />
      <AreaNavigation {...navigation} />
      <div class="page">
        <header class="bar">
          <MenuButton />
          <h1>{heading}</h1>
          {corner}
        </header>
        <Main refresh={refresh} tabIndex={-1}>
          {body}
        </Main>
        <Footer />
      </div>
    </body>
  );
}

function SkipLink(): VNode {
  return (
    <a class="skip" href={`#${CONTENT_ID}`}>
      {t.skipToContent()}
    </a>
  );
}

interface MainProps extends Pick<PageProps, 'refresh'> {
  tabIndex?: number;
  children: ComponentChildren;
}

function Main({ refresh, tabIndex, children }: MainProps): VNode {
  const reload = isReloading(refresh) ? refresh : undefined;
  return (
    <main id={CONTENT_ID} tabIndex={tabIndex} data-reload-to={reload?.to} data-reload-seconds={reload?.seconds}>
      {children}
    </main>
  );
}

/** Opens the next address. Where the script of the page does it, this is for browsers that run none. */
function RefreshTag({ refresh }: Pick<PageProps, 'refresh'>): VNode | null {
  if (refresh === undefined) return null;
  const tag = <meta http-equiv="refresh" content={`${refresh.seconds};url=${refresh.to}`} />;
  return isReloading(refresh) ? <noscript>{tag}</noscript> : tag;
}
