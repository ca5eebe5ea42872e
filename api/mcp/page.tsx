import { config } from '../../shared/lib/config.ts';
import type { Context } from '../context.ts';
import { sendPage } from '../pages/page.tsx';
import { TOOLS } from './tools/index.ts';

const mcpUrl = () => `${config.BASE_URL}/mcp`;

/** Whether it is a person with a browser who came by, not a client: those ask for events, not for pages. */
export function wantsPage(ctx: Context): boolean {
  const accept = ctx.get('accept');
  return (
    (ctx.method === 'GET' || ctx.method === 'HEAD') && accept.includes('text/html') && !accept.includes('event-stream')
  );
}

/** Answers with a page that says what this address is for. */
export function showPage(ctx: Context): void {
  ctx.set('vary', 'Accept');
  const body = (
    <div class="card">
      <h1>This is an MCP server</h1>
      <p>
        It lets AI assistants make images and videos on the credits of your account. There is nothing to do here in a
        browser: add its address to your assistant.
      </p>
      <p>
        <code>{mcpUrl()}</code>
      </p>
      <p>
        The assistant opens a page where you sign in and allow it. Where it cannot, give it an API key of{' '}
        <a href="/account/">your account</a> as the header <code>Authorization: Bearer svc_…</code>. With Claude Code,
        for instance:
      </p>
      <p>
        <code>claude mcp add --transport http genmeter {mcpUrl()}</code>
      </p>
      <h2>What it can do</h2>
      <ul class="plain">
        {TOOLS.map(({ name, listing }) => (
          <li key={name}>
            <code>{name}</code>: {String(listing['title'])}
          </li>
        ))}
      </ul>
    </div>
  );
  sendPage(ctx, { title: 'MCP server', body, isNarrow: true });
}
