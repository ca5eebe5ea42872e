import type { ProcessorSubscription } from '../../gateways/payments/index.ts';
import { Account } from '../../tables/Account.ts';

/** Finds the account of a customer, or else the account that the subscription was started for. */
export async function findCustomerAccount({
  customerId,
  accountUuid,
}: Pick<ProcessorSubscription, 'customerId' | 'accountUuid'>): Promise<Account | undefined> {
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid });
}
