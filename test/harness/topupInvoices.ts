import type { BillingService } from './billingService.ts';
import { runTasksNow } from './tasks.ts';
import type { TestCustomer } from './apiClient.ts';

export async function listInvoices(customer: TestCustomer): Promise<any[]> {
  return (await customer.request('GET', '/api/billing/invoices/')).body.data;
}

/** Returns the rows of a customer's top-ups, oldest first. */
export function findTopups({ service }: BillingService, { email }: TestCustomer): Promise<any[]> {
  return service.sql(
    `SELECT t.* FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1 ORDER BY t.created_at`,
    [email],
  );
}

/** Completes the invoices of top-ups ahead of the schedule. */
export async function completeInvoices(billing: BillingService): Promise<void> {
  await runTasksNow(billing.service, 'invoice.issue');
  await billing.drained();
}
