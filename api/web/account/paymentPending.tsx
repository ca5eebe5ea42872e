import type { Context } from '../../context.ts';
import { sendPage } from '../components/layout.tsx';

/** How often the page is loaded again by itself, and after how long. */
const RELOADS_MAX = 24;
const RELOAD_SECONDS = 5;

/** Whether the page has been loaded again so often that waiting longer is of no use. */
export function isReloadLimitReached(reloads: unknown): boolean {
  return parseReloadCount(reloads) >= RELOADS_MAX;
}

/** Shown after a checkout until the payment is confirmed. Loads itself again; the address counts how often it has. */
export function sendPaymentPendingPage(ctx: Context): void {
  const nextReload = parseReloadCount(ctx.query['reloads']) + 1;
  const body = (
    <div class="card">
      <h1>Waiting for the payment</h1>
      <p>Thank you. The payment processor has not confirmed your payment yet. This usually takes less than a minute.</p>
      <p class="quiet">
        This page reloads every {RELOAD_SECONDS} seconds and continues when the payment is confirmed. You can also close
        it: your plan or your credits are added either way.
      </p>
      <p>
        <a href="/account/">Go to your account</a>
      </p>
    </div>
  );
  const refresh = { seconds: RELOAD_SECONDS, to: `/account/?checkout=success&reloads=${nextReload}` };
  sendPage(ctx, { title: 'Waiting for the payment', body, isNarrow: true, refresh });
}

function parseReloadCount(text: unknown): number {
  return typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0;
}
