import type { Context } from '../context.ts';
import { ConnectInstructions } from '../web/components/connectInstructions.tsx';
import { sendPage } from '../web/components/layout.tsx';
import { TOOLS } from './tools/index.ts';

/** Whether it is a person with a browser who came by, not a client: those ask for events, not for pages. */
export function isBrowserRequest(ctx: Context): boolean {
  const accept = ctx.get('accept');
  return (
    (ctx.method === 'GET' || ctx.method === 'HEAD') && accept.includes('text/html') && !accept.includes('event-stream')
  );
}

/** Answers with a page that says what this address is for. */
export function sendMcpInfoPage(ctx: Context): void {
  ctx.set('vary', 'Accept');
  const body = (
    <div class="card">
      <h1>This is an MCP server</h1>
      <p>
        It lets AI assistants make images and videos on the credits of your account. There is nothing to do here in a
        browser.
      </p>
      <ConnectInstructions />
      <p class="apart">
        Where an assistant cannot open a page, give it an API key of <a href="/account/">your account</a> as the header{' '}
        <code>Authorization: Bearer svc_…</code>.
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
