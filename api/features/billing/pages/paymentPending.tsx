import type { Context } from '../../../context.ts';
import { sendPage } from '../../../web/components/layout.tsx';
import { t as errorTexts } from '../../../web/errorTexts.ts';
import { PENDING as t } from './texts.ts';

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
      <h1>{t.waiting()}</h1>
      <p>{t.thanks()}</p>
      <p class="quiet">{t.reloads({ seconds: RELOAD_SECONDS })}</p>
      <p>
        <a href="/account/">{errorTexts.goToAccount()}</a>
      </p>
    </div>
  );
  const refresh = { seconds: RELOAD_SECONDS, to: `/account/?checkout=success&reloads=${nextReload}` };
  sendPage(ctx, { title: t.waiting(), body, isNarrow: true, refresh });
}

function parseReloadCount(text: unknown): number {
  return typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0;
}
