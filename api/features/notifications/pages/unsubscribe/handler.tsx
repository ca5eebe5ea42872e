import { NOTIFICATIONS_PATH } from '../../../../../shared/domain/emails/settings.ts';
import {
  type EmailSubscription,
  readUnsubscribeToken,
  unsubscribe,
} from '../../../../../shared/domain/emails/unsubscribe.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import type { Context } from '../../../../context.ts';
import { getPathParam } from '../../../../pipeline/requestParameters.ts';
import { sendPage } from '../../../../web/components/layout.tsx';
import { KINDS } from '../settings/texts.ts';
import { t } from './texts.ts';

/**
 * Asks for confirmation before messages of one kind are switched off. Opening the address changes nothing, as programs
 * that check the links of messages open it, too.
 */
export async function confirmUnsubscribe(ctx: Context): Promise<void> {
  const { kind } = await readToken(ctx);
  const title = t.unsubscribe();
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{t.question({ kind: KINDS[kind]() })}</p>
      <form method="post" action={ctx.path}>
        <button type="submit" class="main">
          {title}
        </button>
      </form>
      <p>
        <a href={NOTIFICATIONS_PATH}>{t.allSettings()}</a>
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
  const subscription = await readToken(ctx);
  await unsubscribe(subscription);
  const title = t.unsubscribed();
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p role="status">{t.unsubscribedSentence({ kind: KINDS[subscription.kind]() })}</p>
      <p>
        <a href={NOTIFICATIONS_PATH}>{t.allSettings()}</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true });
}

/** @throws ServiceError not_found */
async function readToken(ctx: Context): Promise<EmailSubscription> {
  const token = getPathParam(ctx, 'token');
  const subscription = await readUnsubscribeToken(token);
  if (subscription !== null) return subscription;
  throw new ServiceError(
    'not_found',
    'Not found. The link is incomplete or no longer valid. Sign in and open Settings, Notifications instead.',
  );
}
