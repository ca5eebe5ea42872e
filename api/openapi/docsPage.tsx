import { renderToString } from 'preact-render-to-string';
import { getAssetPath } from '../web/assets.ts';
import { getBrand } from '../web/brand.ts';
import { Brand, Favicon } from '../web/components/brand.tsx';

/**
 * Builds the policy of the page: scripts, styles, fonts and requests from the service's own origin only, images
 * embedded in its stylesheet, and the logo.
 */
export function buildDocsContentSecurityPolicy(): string {
  const { logoOrigin } = getBrand();
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    `img-src 'self' data:${logoOrigin === undefined ? '' : ` ${logoOrigin}`}`,
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** Starts the page and sets the class for the browser's color scheme. The validator is off: it needs the network. */
export const SWAGGER_UI_INIT_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);
window.addEventListener('load', () => {
  SwaggerUIBundle({
    url: '/api/openapi.json',
    dom_id: '#description',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: false,
    validatorUrl: null,
  });
});
`;

/** Renders the page in English, as the description is: it is cached without regard to the reader. */
export function renderDocsPage(): string {
  const html = renderToString(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`API reference · ${getBrand().name}`}</title>
        <Favicon />
        <link rel="stylesheet" href="/api/docs/swagger-ui.css" />
        <link rel="stylesheet" href={getAssetPath('reference.css')} />
        <script src="/api/docs/swagger-ui-bundle.js" defer />
        <script src="/api/docs/start.js" defer />
      </head>
      <body class="front">
        <header class="top">
          <Brand href="/" />
          <nav aria-label="Site">
            <a href="/docs/">Guides</a>
            <a href="/api/docs/" aria-current="page">
              API reference
            </a>
            <a href="/account/">Your account</a>
          </nav>
        </header>
        <main id="description">
          <noscript>
            This page needs JavaScript. The description itself is at <a href="/api/openapi.json">/api/openapi.json</a>.
          </noscript>
        </main>
      </body>
    </html>,
  );
  return `<!doctype html>${html}`;
}
