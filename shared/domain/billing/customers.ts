import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { mapProcessorErrors } from './processorErrors.ts';

/**
 * Does something as the customer that an account is to the processor, who is made known there first if they are not
 * yet; and made known again if somebody has deleted them there.
 */
export async function withCustomer<Result>(
  account: Account,
  work: (customerId: string) => Promise<Result>,
): Promise<Result> {
  const customerId = await ensureCustomer(account);
  try {
    return await work(customerId);
  } catch (error) {
    if (!(error instanceof ProcessorError) || !error.isCustomerGone) throw error;
    logger.warn({ accountId: account.id, customerId }, 'a customer is gone at the payment processor: made anew');
    await Account.query()
      .patch({ stripe_customer_id: null, has_payment_method: false })
      .where({ id: account.id, stripe_customer_id: customerId });
    return work(await ensureCustomer(await account.$query(), customerId));
  }
}

/** The customer that an account is to the processor; null before it was made known there. Simulated ones always are. */
export function getCustomerId({ uuid, stripe_customer_id: stored }: Account): string | null {
  return processor.isSimulated ? `simulated_${uuid}` : stored;
}

async function ensureCustomer(account: Account, replaces?: string): Promise<string> {
  const existing = getCustomerId(account);
  if (existing !== null) return existing;
  // Under a key of the account's: of two at once, or after a crash, there is one customer still.
  const { uuid: accountUuid, email } = account;
  const customerId = await mapProcessorErrors(processor.createCustomer({ accountUuid, email, replaces }));
  await Account.query()
    .patch({ stripe_customer_id: customerId })
    .where({ id: account.id })
    .whereNull('stripe_customer_id');
  const { stripe_customer_id: stored } = await Account.query().findById(account.id).throwIfNotFound();
  return stored as string;
}
