import { config } from '../../shared/lib/config.ts';
import type { Context } from '../context.ts';
import { TOOLS } from './tools/index.ts';

const URL_OF_MCP = `${config.BASE_URL}/mcp`;

/** Whether it is a person with a browser who came by, not a client: those ask for events, not for pages. */
export function wantsPage(ctx: Context): boolean {
  const accept = ctx.get('accept');
  return (
    (ctx.method === 'GET' || ctx.method === 'HEAD') && accept.includes('text/html') && !accept.includes('event-stream')
  );
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1c2333;background:#fff}' +
  'code,pre{font:14px/1.5 ui-monospace,monospace;background:#f1f3f8;border-radius:6px}code{padding:.1em .3em}pre{padding:1rem;overflow-x:auto}' +
  '@media(prefers-color-scheme:dark){body{color:#dfe4f0;background:#12151d}code,pre{background:#1e2330}}';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>MCP server</title>
<style>${STYLE}</style>
</head>
<body>
<h1>This is an MCP server</h1>
<p>It lets AI assistants make images and videos on the credits of your account. There is nothing to see here with a browser: add its address to your assistant.</p>
<pre>${escaped(URL_OF_MCP)}</pre>
<p>The assistant opens a page where you sign in and approve. Where it cannot, give it an API key as the header <code>Authorization: Bearer svc_…</code>. With Claude Code, for instance:</p>
<pre>claude mcp add --transport http genmeter ${escaped(URL_OF_MCP)}</pre>
<h2>What it can do</h2>
<ul>
${TOOLS.map(({ name, listing }) => `<li><code>${escaped(name)}</code>: ${escaped(String(listing['title']))}</li>`).join('\n')}
</ul>
</body>
</html>
`;

/** Answers with a page that says what this address is for. */
export function showPage(ctx: Context): void {
  ctx.set(
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  ctx.set('vary', 'Accept');
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = PAGE;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
