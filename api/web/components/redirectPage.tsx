import type { Context } from '../../context.ts';
import { t } from '../texts.ts';
import { sendPage } from './layout.tsx';

/**
 * Sends the browser to a page of another site after a form. A redirect would not work: browsers check it against the
 * `form-action` policy of the page that contained the form, and the target is not known when that page is rendered.
 */
export function sendRedirectPage(
  ctx: Context,
  address: string,
  sentence: string,
  { heading = t.redirecting() }: { heading?: string } = {},
): void {
  const body = (
    <div class="card">
      <h1>{heading}</h1>
      <p>{sentence}</p>
      <p>
        <a class="button main wide" href={address}>
          {t.continue()}
        </a>
      </p>
    </div>
  );
  sendPage(ctx, { title: heading.replace('…', ''), body, isNarrow: true, refresh: { seconds: 0, to: address } });
}
