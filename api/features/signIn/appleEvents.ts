import { receiveAppleNotification } from '../../../shared/domain/signIn/appleNotifications.ts';
import { BODY_LIMIT_BYTES } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { countRejectedMessages } from '../../pipeline/countRejectedMessages.ts';
import { parseJson } from '../../pipeline/parseJson.ts';

/** Receives a server-to-server notification of Sign in with Apple, at the address that the developer account names. */
export async function receiveAppleEvent(ctx: Context): Promise<void> {
  await countRejectedMessages(ctx, async () => {
    const { payload } = parseJson((await readRawBody(ctx, BODY_LIMIT_BYTES)).toString()) as { payload?: unknown };
    await receiveAppleNotification(typeof payload === 'string' ? payload : '');
  });
  // Apple repeats a notification that is answered with any other status.
  ctx.status = 200;
  ctx.body = '';
}
