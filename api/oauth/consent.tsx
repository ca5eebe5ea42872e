import { redirectHost, redirectTarget } from '../../shared/domain/oauth/redirects.ts';
import { SCOPES } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import { formToken } from '../pages/forms.ts';
import { sendPage } from '../pages/page.tsx';
import { Form } from '../pages/parts.tsx';
import type { Asker, Authorization } from './authorization.ts';

/** Asks whether a client may act for the account: who it says it is, where the answer goes, and what it could do. */
export function sendConsentPage(ctx: Context, { client, redirectUri, scopes }: Authorization, email: string): void {
  const here = `/authorize?${ctx.querystring}`;
  const host = redirectHost(redirectUri);
  const isLocal = redirectUri.startsWith('http://');
  const describedAt = URL.canParse(client.client_id) ? new URL(client.client_id).host : undefined;
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
      {describedAt === undefined ? null : (
        <p>
          What it says of itself is kept at <code>{describedAt}</code>.
        </p>
      )}
      <Form action={here} token={formToken(ctx)} class="buttons even">
        <button class="main" type="submit" name="decision" value="allow">
          Allow
        </button>
        <button type="submit" name="decision" value="deny">
          Do not allow
        </button>
      </Form>
      <p class="quiet small">
        A connection can be ended at any time on your <a href="/account/">account page</a>. Not your account?
      </p>
      <Form action={here} token={formToken(ctx)}>
        <button class="slight" type="submit" name="decision" value="switch">
          Sign out here and use another one
        </button>
      </Form>
    </div>
  );
  const title = `Connect ${client.name}`;
  // What is at an address is sent on to by a page of its own; of a program's own scheme the form must know.
  const target = redirectTarget(redirectUri);
  sendPage(ctx, { title, body, isNarrow: true, formTargets: /^https?:/.test(target) ? [] : [target] });
}

/** Says that an application has asked for something wrong, and lets the person choose to tell it. */
export function sendMistakePage(ctx: Context, { client, redirectUri }: Asker, sentence: string, address: string): void {
  const body = (
    <div class="card">
      <h1>{client.name} asked for something that it cannot have</h1>
      <p>{sentence}</p>
      <p>
        You can go back to <code>{redirectHost(redirectUri)}</code>, if you have just come from there.
      </p>
      <p>
        <a class="button wide" href={address} rel="noreferrer">
          Back to the application
        </a>
      </p>
    </div>
  );
  sendPage(ctx, { title: 'Not connected', body, isNarrow: true }, 400);
}
