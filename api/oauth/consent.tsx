import { redirectHost, redirectTarget } from '../../shared/domain/oauth/redirects.ts';
import { SCOPES } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import { formToken } from '../pages/forms.ts';
import { sendPage } from '../pages/page.tsx';
import { Form } from '../pages/parts.tsx';
import type { Authorization } from './authorization.ts';

/** Asks whether a client may act for the account: who it says it is, where the answer goes, and what it could do. */
export function sendConsentPage(ctx: Context, { client, redirectUri, scopes }: Authorization, email: string): void {
  const here = `/authorize?${ctx.querystring}`;
  const host = redirectHost(redirectUri);
  const isLocal = redirectUri.startsWith('http://');
  const body = (
    <div class="card">
      <h1>Connect {client.name}?</h1>
      <p>
        An application that calls itself <strong>{client.name}</strong> asks to act for your account{' '}
        <strong>{email}</strong>. It could:
      </p>
      <ul class="plain">
        {scopes.map((scope) => (
          <li key={scope}>{SCOPES[scope]}</li>
        ))}
      </ul>
      <p>
        You will be sent on to <code>{host}</code>
        {isLocal ? ', a program on this very machine' : ''}. Go on only if you have just asked for this there.
      </p>
      <Form action={here} token={formToken(ctx)} class="buttons even">
        <button class="main" type="submit" name="decision" value="allow">
          Allow
        </button>
        <button type="submit" name="decision" value="deny">
          Do not allow
        </button>
      </Form>
      <p class="quiet small">
        Not your account? Sign out here and use another one. A connection can be ended at any time on your{' '}
        <a href="/account/">account page</a>.
      </p>
      <Form action={here} token={formToken(ctx)}>
        <button class="slight" type="submit" name="decision" value="switch">
          Use another account
        </button>
      </Form>
    </div>
  );
  const title = `Connect ${client.name}`;
  sendPage(ctx, { title, body, isNarrow: true, formTargets: [redirectTarget(redirectUri)] });
}
