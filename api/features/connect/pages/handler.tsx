import type { Context } from '../../../context.ts';
import { sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { ConnectInstructions } from '../../../web/components/connectInstructions.tsx';

export const CONNECT_PATH = '/account/connect/';

/** Shows how to connect an assistant to the MCP server. */
export async function showConnectPage(ctx: Context): Promise<void> {
  const children = (
    <>
      <p class="quiet">
        Ask an assistant for an image or a video in a conversation; the credits come from your account.
      </p>
      <section class="card" aria-labelledby="instructions">
        <h2 id="instructions">Instructions</h2>
        <ConnectInstructions />
      </section>
      <section class="card" aria-labelledby="without-browser">
        <h2 id="without-browser">Without a browser</h2>
        <p>
          If the program cannot open a browser, for example on a server, create an <a href="/account/keys/">API key</a>{' '}
          and send it as the header <code>Authorization: Bearer svc_…</code>.
        </p>
      </section>
      <p>
        Connected applications are listed under <a href="/account/applications/">Applications</a>, where you can
        disconnect them.
      </p>
    </>
  );
  await sendAccountAreaPage(ctx, { current: CONNECT_PATH, heading: 'Connect an assistant', children });
}
