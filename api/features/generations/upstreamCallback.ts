import { receiveCallback } from '../../../shared/domain/generations/execution/callbacks.ts';
import type { Context } from '../../context.ts';
import { getPathParam } from '../../pipeline/requestParameters.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { countRejectedMessages } from '../../pipeline/countRejectedMessages.ts';

/** Receives the call-back of an upstream. Only a token of this service leads to more work than one decryption. */
export async function receiveUpstreamCallback(ctx: Context): Promise<void> {
  const token = getPathParam(ctx, 'token');
  await countRejectedMessages(ctx, () =>
    receiveCallback({ token, headers: ctx.headers, readBody: () => readRawBody(ctx) }),
  );
  ctx.status = 204;
}
