import type { Context } from '../context.ts';
import { sendPage } from './page.tsx';

/** What went wrong, as a page: a plain sentence and a way on. */
export function sendProblemPage(ctx: Context, status: number, sentence: string): void {
  const title = TITLES[status] ?? (status >= 500 ? 'Something failed' : 'That did not work');
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{sentence}</p>
      <p>
        <a href="/account/">Go to your account</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

const TITLES: Record<number, string> = {
  403: 'Not for this account',
  404: 'There is nothing here',
  429: 'Too many requests',
  503: 'Out of reach for the moment',
};
