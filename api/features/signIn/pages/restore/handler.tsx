import {
  readIdentityUndoToken,
  type RemovedIdentity,
  restoreIdentity,
} from '../../../../../shared/domain/signIn/identityUndo.ts';
import type { ProviderName } from '../../../../../shared/gateways/identity/index.ts';
import type { Context } from '../../../../context.ts';
import { getPathParam } from '../../../../pipeline/requestParameters.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { sendPage } from '../../../../web/components/layout.tsx';
import { PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { t } from './texts.ts';

/**
 * Asks for confirmation before the removal of a sign-in method is undone. Opening the address changes nothing, as
 * programs that check the links of messages open it, too.
 */
export function confirmRestoreIdentity(ctx: Context): void {
  const { provider, email } = readToken(ctx);
  const title = t.question({ provider: getTitle(provider) });
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{t.effect({ provider: getTitle(provider), email })}</p>
      <form method="post" action={ctx.path}>
        <button type="submit" class="main">
          {t.restore()}
        </button>
      </form>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true });
}

/** Undoes the removal. The encrypted token in the address authorizes it. */
export async function submitRestoreIdentity(ctx: Context): Promise<void> {
  const removed = readToken(ctx);
  await restoreIdentity(removed, getRequestOrigin(ctx));
  const title = t.restored();
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p role="status">{t.restoredSentence({ provider: getTitle(removed.provider) })}</p>
      <p>
        <a class="button main" href="/sign-in?return_to=%2Faccount%2Fsecurity%2F">
          {t.checkLog()}
        </a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true });
}

/** @throws ServiceError not_found */
function readToken(ctx: Context): RemovedIdentity {
  return readIdentityUndoToken(getPathParam(ctx, 'token'));
}

function getTitle(provider: string): string {
  return PROVIDER_TITLES[provider as ProviderName];
}
