import { renderToString } from 'preact-render-to-string';
import { getBrand } from '../web/brand.ts';

/**
 * Policy of the page: scripts, styles and requests from the service's own origin only, and images embedded in its
 * stylesheet.
 */
export const DOCS_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

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

export function renderDocsPage(): string {
  const html = renderToString(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`API reference · ${getBrand().name}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/api/docs/swagger-ui.css" />
        <script src="/api/docs/swagger-ui-bundle.js" defer />
        <script src="/api/docs/start.js" defer />
      </head>
      <body>
        <div id="description">
          <noscript>
            This page needs JavaScript. The description itself is at <a href="/api/openapi.json">/api/openapi.json</a>.
          </noscript>
        </div>
      </body>
    </html>,
  );
  return `<!doctype html>${html}`;
}
