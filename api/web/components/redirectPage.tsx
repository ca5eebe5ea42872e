import type { Context } from '../../context.ts';
import { sendPage } from './layout.tsx';

/**
 * Sends the browser on to somebody else's page after a form. Not by a redirect: browsers hold those against the page
 * that the form was on, which would have to know the address beforehand.
 */
export function sendRedirectPage(ctx: Context, address: string, sentence: string): void {
  const body = (
    <div class="card">
      <h1>One moment</h1>
      <p>{sentence}</p>
      <p>
        <a class="button main wide" href={address}>
          Continue
        </a>
      </p>
    </div>
  );
  sendPage(ctx, { title: 'One moment', body, isNarrow: true, refresh: { seconds: 0, to: address } });
}
