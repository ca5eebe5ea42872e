import { receivePaymentEvent, assertRecentSignature } from '../../../shared/domain/billing/receivePaymentEvents.ts';
import { processor } from '../../../shared/gateways/payments/index.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { countRejectedMessages } from '../../pipeline/countRejectedMessages.ts';

/** Receives an event of the payment processor: acknowledged once it is stored, applied by a worker (spec: Events). */
export async function receiveProcessorEvent(ctx: Context): Promise<{ received: true }> {
  await countRejectedMessages(ctx, () => verifyAndStoreEvent(ctx));
  return { received: true };
}

async function verifyAndStoreEvent(ctx: Context): Promise<void> {
  if (processor.isSimulated) {
    throw new ServiceError('validation_error', 'This service has no payment processor and accepts no events.');
  }
  const signature = ctx.get('stripe-signature');
  assertRecentSignature(signature);
  await receivePaymentEvent(await readRawBody(ctx), signature);
}
