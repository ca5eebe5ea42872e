import type { Context } from '../context.ts';
import { getBrand } from '../web/brand.ts';
import { ConnectInstructions } from '../web/components/connectInstructions.tsx';
import { sendPage } from '../web/components/layout.tsx';
import { t } from './texts.ts';
import { getTools } from './tools/index.ts';

/** Returns whether a browser requests a page. MCP clients accept event streams instead. */
export function isBrowserRequest(ctx: Context): boolean {
  const accept = ctx.get('accept');
  return (
    (ctx.method === 'GET' || ctx.method === 'HEAD') && accept.includes('text/html') && !accept.includes('event-stream')
  );
}

/** Returns what a tool does. The other sentences explain to models how to use it. */
function getFirstSentence(description: string): string {
  return description.split(/(?<=\.) /, 1).join('');
}

/** Sends a page that explains the MCP endpoint to people who open it in a browser. */
export function sendMcpInfoPage(ctx: Context): void {
  ctx.set('vary', 'Accept');
  const body = (
    <div class="card">
      <h1>{t.heading()}</h1>
      <p>{t.lead({ brand: getBrand().name })}</p>
      <ConnectInstructions />
      <p class="apart">{t.withKey({ link: '/account/' })}</p>
      <h2>{t.tools()}</h2>
      <ul class="rows" lang="en">
        {getTools().map(({ name, description, price = 'no credits' }) => (
          <li key={name}>
            <div class="what">
              <code>{name}</code>, {price}
              <br />
              <span class="quiet">{getFirstSentence(description)}</span>
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
  sendPage(ctx, { title: t.title(), body, isNarrow: true });
}
