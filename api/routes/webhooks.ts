import { receiveEvent } from '../../shared/domain/billing/paymentEvents.ts';
import { processor } from '../../shared/gateways/payments/index.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { rawBodyOf } from '../middleware/body.ts';

/** An event of the payment processor: acknowledged once it is stored, acted upon by a worker (spec: Events). */
export async function processorEvent(ctx: Context): Promise<void> {
  if (processor.isSimulated) throw new ServiceError('not_found', 'This service runs without a payment processor.');
  await receiveEvent(await rawBodyOf(ctx), ctx.get('stripe-signature'));
  ctx.body = { received: true };
}
