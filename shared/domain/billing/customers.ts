import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';

/**
 * Runs a request with the account's customer at the processor. The customer is created if the account has none, and
 * created again if it was deleted there.
 */
export async function withCustomer<Result>(
  account: Account,
  work: (customerId: string) => Promise<Result>,
): Promise<Result> {
  const customerId = await ensureCustomer(account);
  try {
    return await work(customerId);
  } catch (err) {
    if (!(err instanceof ProcessorError) || !err.isCustomerGone) throw err;
    logger.warn({ accountId: account.id, customerId }, 'customer not found at the processor; creating another');
    await changeSubscription(account.id, async (transaction) => {
      await Account.query(transaction)
        .patch({ stripe_customer_id: null, has_payment_method: false })
        .where({ id: account.id, stripe_customer_id: customerId });
    });
    return work(await ensureCustomer(await account.$query(), customerId));
  }
}

/** Returns the account's customer id at the processor; null before it is created. Simulated customers always exist. */
export function getCustomerId({
  uuid,
  stripe_customer_id: stored,
}: Pick<Account, 'uuid' | 'stripe_customer_id'>): string | null {
  return processor.isSimulated ? `simulated_${uuid}` : stored;
}

async function ensureCustomer(account: Account, replaces?: string): Promise<string> {
  const existing = getCustomerId(account);
  if (existing !== null) return existing;
  // Idempotent per account: concurrent requests, and a retry after a crash, create one customer.
  const { uuid: accountUuid, email } = account;
  const customerId = await mapProcessorErrors(processor.createCustomer({ accountUuid, email, replaces }));
  await Account.query()
    .patch({ stripe_customer_id: customerId })
    .where({ id: account.id })
    .whereNull('stripe_customer_id');
  const { stripe_customer_id: stored } = await Account.query().findById(account.id).throwIfNotFound();
  return stored as string;
}
