import { requireProcessor } from '../../gateways/payments/index.ts';
import { Account } from '../../tables/Account.ts';

/** What the processor calls an account; it is made known there first if it is not yet. */
export async function customerOf(account: Account): Promise<string> {
  if (account.stripe_customer_id !== null) return account.stripe_customer_id;
  // Under a key of the account's: of two at once, or after a crash, there is one customer still.
  const { uuid: accountUuid, email } = account;
  const customerId = await requireProcessor().createCustomer({ accountUuid, email });
  await Account.query()
    .patch({ stripe_customer_id: customerId })
    .where({ id: account.id })
    .whereNull('stripe_customer_id');
  const { stripe_customer_id: stored } = await Account.query().findById(account.id).throwIfNotFound();
  return stored as string;
}
