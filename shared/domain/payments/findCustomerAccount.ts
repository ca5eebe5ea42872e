import type { PaidInvoice } from '../../gateways/payments/index.ts';
import { Account } from '../../tables/Account.ts';

/**
 * Finds the account of a customer, or else the account that the subscription was started for. A customer may also have
 * subscriptions of other products: those have neither a price of ours nor the account in their metadata.
 */
export async function findCustomerAccount({
  customerId,
  accountUuid,
  isForPlan,
}: Pick<PaidInvoice, 'customerId' | 'accountUuid' | 'isForPlan'>): Promise<Account | undefined> {
  if (accountUuid === null && !isForPlan) return undefined;
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid });
}
