import { getId } from '../fakes/stripe/store.ts';
import { enrollAffiliate, getAffiliateStatus, signUpReferred } from './affiliates.ts';
import type { TestCustomer } from './apiClient.ts';
import { type BillingService, startBillingService } from './billingService.ts';
import { runJob } from './jobs.ts';
import { makeTasksDue, runDueTasks } from './tasks.ts';

/** The commission of a yearly plan, in cents. */
export const COMMISSION = { lite: 2_160, pro: 10_440 };

/** A billing service with two APIs and two workers, and affiliates whose payouts tests run ahead of time. */
export class PayoutFixture {
  billing!: BillingService;
  private advances = 0;

  async start(): Promise<void> {
    this.billing = await startBillingService({ apis: 2, workers: 2 });
    // Tests backdate payable commissions rather than wait for 30 days.
    this.billing.service.fabricated.add('commissions-are-their-share');
  }

  reset(): void {
    this.billing.stripe.reset();
    this.billing.stripe.store.balanceCents = null;
    this.billing.stripe.store.isConnectEnabled = true;
  }

  /** Creates an affiliate whose payouts are enabled. */
  async createAffiliate() {
    const { baseUrl } = this.billing.service;
    const { affiliate, code } = await enrollAffiliate(baseUrl);
    const { body } = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    const accountId = /acct_\w+/.exec(body.url)?.[0] as string;
    this.billing.stripe.onboard(accountId);
    await this.billing.drained();
    /** Amounts, newest first. */
    const transfers = () =>
      [...this.billing.stripe.summarize().transfers.values()]
        .filter((transfer) => transfer.accountId === accountId)
        .map(({ amountCents }) => amountCents);
    const stats = async () => (await getAffiliateStatus(affiliate)).stats;
    return { affiliate, code, accountId, transfers, stats, refer: () => signUpReferred(baseUrl, code) };
  }

  async runPayouts(): Promise<void> {
    await runJob(this.billing, 'billing', 'payouts.run');
    await runDueTasks(this.billing.service);
  }

  /**
   * Backdates commissions and payouts, so that all commissions are payable. Each call uses other months, as a month has
   * one payout.
   */
  async advanceMonths(): Promise<void> {
    this.advances += 1;
    await this.billing.service.sql(
      `UPDATE commissions SET payable_at = payable_at - make_interval(months => $1), synced_at = synced_at - interval '1 day'`,
      [this.advances + 3],
    );
    await this.billing.service.sql(
      `UPDATE payouts SET month = month - make_interval(months => $1)
        WHERE status = 'paid' AND month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
      [this.advances],
    );
  }

  /** Makes pending payouts due for their next attempt. */
  makePendingDue(): Promise<void> {
    return makeTasksDue(this.billing.service, 'payout.transfer');
  }

  getInvoiceId(customer: TestCustomer): string {
    const customers = this.billing.stripe.summarize().customers;
    const { customerId = '' } = customers.find(({ email }) => email === customer.email) ?? {};
    return getId(this.billing.stripe.findSubscription(customerId).latest_invoice);
  }
}
