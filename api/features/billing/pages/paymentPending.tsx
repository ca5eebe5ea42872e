import type { Context } from '../../../context.ts';
import { sendPage } from '../../../web/components/layout.tsx';

/** Number of automatic reloads, and the time between them. */
const RELOADS_MAX = 24;
const RELOAD_SECONDS = 5;

/** Returns whether the page has reloaded as often as it may. */
export function isReloadLimitReached(reloads: unknown): boolean {
  return parseReloadCount(reloads) >= RELOADS_MAX;
}

/** Sends the page that is shown after a checkout until the payment is confirmed. The URL counts its reloads. */
export function sendPaymentPendingPage(ctx: Context): void {
  const nextReload = parseReloadCount(ctx.query['reloads']) + 1;
  const body = (
    <div class="card">
      <h1>Waiting for payment</h1>
      <p>Thank you. The payment processor has not confirmed your payment yet. This usually takes less than a minute.</p>
      <p class="quiet">
        This page reloads every {RELOAD_SECONDS} seconds and continues when the payment is confirmed. You can close it:
        your plan or credits are added either way.
      </p>
      <p>
        <a href="/account/">Go to your account</a>
      </p>
    </div>
  );
  const refresh = { seconds: RELOAD_SECONDS, to: `/account/?checkout=success&reloads=${nextReload}` };
  sendPage(ctx, { title: 'Waiting for payment', body, isNarrow: true, refresh });
}

function parseReloadCount(text: unknown): number {
  return typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0;
}
