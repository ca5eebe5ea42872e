import { receiveAppleNotification } from '../../../shared/domain/signIn/appleNotifications.ts';
import { BODY_LIMIT_BYTES } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { countRejectedMessages } from '../../pipeline/countRejectedMessages.ts';
import { parseJson } from '../../pipeline/parseJson.ts';

/** Receives a server-to-server notification of Sign in with Apple, at the address that the developer account names. */
export async function receiveAppleEvent(ctx: Context): Promise<void> {
  await countRejectedMessages(ctx, async () => {
    const { payload } = parseJson((await readRawBody(ctx, BODY_LIMIT_BYTES)).toString()) as { payload?: unknown };
    const result = await receiveAppleNotification(typeof payload === 'string' ? payload : '');
    if (result !== null) await audit(ctx, result.change, result.accountId, { provider: 'apple' });
  });
  // Apple repeats a notification that is answered with any other status.
  ctx.status = 200;
  ctx.body = '';
}
