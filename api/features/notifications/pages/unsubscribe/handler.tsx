import { NOTIFICATIONS_PATH } from '../../../../../shared/domain/emails/settings.ts';
import {
  type EmailSubscription,
  parseUnsubscribeToken,
  unsubscribe,
} from '../../../../../shared/domain/emails/unsubscribe.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import type { Context } from '../../../../context.ts';
import { sendPage } from '../../../../web/components/layout.tsx';
import { KIND_LABELS } from '../settings/kinds.ts';

/**
 * Asks for confirmation before messages of one kind are switched off. Opening the address changes nothing, as programs
 * that check the links of messages open it, too.
 */
export function confirmUnsubscribe(ctx: Context): void {
  const { kind } = parseToken(ctx);
  const title = 'Unsubscribe';
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>Stop messages of this kind: “{KIND_LABELS[kind]}”?</p>
      <form method="post" action={ctx.path}>
        <button type="submit" class="main">
          Unsubscribe
        </button>
      </form>
      <p>
        <a href={NOTIFICATIONS_PATH}>All notification settings</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true });
}

/**
 * Switches messages of one kind off. Mail programs send this request without a session and from another origin (RFC
 * 8058); the signed token in the address authorizes it.
 */
export async function submitUnsubscribe(ctx: Context): Promise<void> {
  const subscription = parseToken(ctx);
  await unsubscribe(subscription);
  const title = 'Unsubscribed';
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p role="status">You no longer receive messages of this kind: “{KIND_LABELS[subscription.kind]}”.</p>
      <p>
        <a href={NOTIFICATIONS_PATH}>All notification settings</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true });
}

/** @throws ServiceError not_found */
function parseToken(ctx: Context): EmailSubscription {
  const { token } = (ctx as unknown as { params: { token: string } }).params;
  const subscription = parseUnsubscribeToken(token);
  if (subscription !== null) return subscription;
  throw new ServiceError(
    'not_found',
    'Not found. The link is incomplete or no longer valid. Sign in and open Settings, Notifications instead.',
  );
}
