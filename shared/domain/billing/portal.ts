import { processor } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { Account } from '../../tables/Account.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { withCustomer } from './customers.ts';
import { recordPortalPage } from './syncPurchases.ts';

/**
 * Opens the processor's portal for payment methods, invoices and cancellation; null if it has none.
 * @throws ServiceError validation_error while the account is being deleted.
 */
export async function openCustomerPortal(accountId: number): Promise<string | null> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  assertNotDeleting(account);
  await recordPortalPage(accountId);
  return withCustomer(account, (customerId) =>
    mapProcessorErrors(processor.openPortal(customerId, config.BILLING_RETURN_URL)),
  );
}
