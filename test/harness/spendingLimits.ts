import type { Transaction } from 'objection';
import { setSpendingLimit } from '../../shared/domain/spendingLimits/setSpendingLimit.ts';
import type { CreditLimit } from '../../shared/presenters/spendingLimit.ts';
import { Account } from '../../shared/tables/Account.ts';
import { TestCustomer } from './apiClient.ts';
import { getAccountId } from './outbox.ts';
import type { TestService } from './testService.ts';

/** Sets the spending limit of the customer's key. The service must run in the test's process. */
export async function setKeyLimit(
  service: TestService,
  customer: TestCustomer,
  limit: CreditLimit | null,
  transaction?: Transaction,
): Promise<void> {
  const [accountId, keyNumber] = [await getAccountId(service, customer), await getKeyNumber(service, customer)];
  const set = (within: Transaction) => setSpendingLimit(within, accountId, { keyNumber }, limit);
  await (transaction === undefined ? Account.transaction(set) : set(transaction));
}

/** Sets the spending limit of an application of the customer. */
export async function setApplicationLimit(
  service: TestService,
  customer: TestCustomer,
  clientId: string,
  limit: CreditLimit | null,
): Promise<void> {
  const accountId = await getAccountId(service, customer);
  await Account.transaction((transaction) => setSpendingLimit(transaction, accountId, { clientId }, limit));
}

export async function getKeyNumber(service: TestService, { key }: TestCustomer): Promise<number> {
  const [row] = await service.sql('SELECT number FROM api_keys WHERE prefix = $1', [key.slice(0, 12)]);
  return row.number;
}

/** Creates another key of the account. @returns the customer with that key. */
export async function addKey(customer: TestCustomer, name: string): Promise<TestCustomer> {
  const { body } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name } });
  return new TestCustomer(customer.baseUrl, customer.email, customer.cookie, body.key);
}

/** Credits used of the limit with this number, as stored. */
export async function readUsed(service: TestService, customer: TestCustomer, number = 1): Promise<number> {
  const [row] = await service.sql(
    `SELECT used FROM spending_limits l JOIN accounts a ON a.id = l.account_id WHERE a.email = $1 AND l.number = $2`,
    [customer.email, number],
  );
  return Number(row.used);
}
