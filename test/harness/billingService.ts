import { expect } from 'chai';
import type Stripe from 'stripe';
import { TestCustomer, createCustomer } from './apiClient.ts';
import { runJob, withQueue } from './jobs.ts';
import { eventually, type TestService, type TestServiceOptions, startTestService } from './testService.ts';
import { makeTasksDue, runDueTasks } from './tasks.ts';
import { compareStripeWithDatabase } from '../fakes/stripe/compareWithDatabase.ts';
import type { Plan } from '../../shared/spec/plans.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { getId } from '../fakes/stripe/store.ts';
import { useService } from './useService.ts';

/** A service with a fake Stripe, and one clock for both. */
export class BillingService {
  readonly stripe: FakeStripe;
  readonly service: TestService;

  constructor(stripe: FakeStripe, service: TestService) {
    this.stripe = stripe;
    this.service = service;
  }

  /** Creates a customer with a session, who subscribes by paying on the checkout page. */
  async createCustomer(plan: string | null = 'pro'): Promise<TestCustomer> {
    const customer = await createCustomer(this.service.baseUrl, null);
    if (plan !== null) await this.subscribe(customer, plan);
    return customer;
  }

  /** Opens a page where a plan is paid, or the change to it is confirmed. */
  async openCheckout(customer: TestCustomer, plan: string): Promise<string> {
    const { status, body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan } });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.checkout_url;
  }

  async subscribe(customer: TestCustomer, plan: string): Promise<void> {
    this.stripe.completeCheckout(await this.openCheckout(customer, plan));
    await this.drained();
  }

  /** Opens a page where credits are paid. */
  async openTopup(customer: TestCustomer, amountCents = 5_000): Promise<string> {
    const { status, body } = await customer.request('POST', '/api/billing/topup/', {
      body: { amount_cents: amountCents },
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.checkout_url;
  }

  async topUp(customer: TestCustomer, amountCents: number): Promise<void> {
    this.stripe.completeCheckout(await this.openTopup(customer, amountCents));
    await this.drained();
  }

  /** Returns the latest subscription of a customer at Stripe. */
  subscription(customer: TestCustomer): Stripe.Subscription {
    return this.stripe.findSubscription(this.customerId(customer));
  }

  /** Returns the id of the latest invoice of that subscription. */
  lastInvoice(customer: TestCustomer): string {
    return getId(this.subscription(customer).latest_invoice);
  }

  /** Returns the Stripe id of a customer. */
  customerId({ email }: TestCustomer): string {
    return this.stripe.summarize().customers.find((customer) => customer.email === email)?.customerId ?? '';
  }

  /** Resolves when every event of the processor was applied or given up, and nothing that follows is due. */
  async drained(): Promise<void> {
    await this.stripe.drained();
    await eventually('all events are applied', async () => {
      const [row] = await this.service.sql(
        `SELECT count(*)::int AS waiting FROM tasks
          WHERE (kind = 'payment.event' AND run_at IS NOT NULL) OR run_at <= $1 OR lease IS NOT NULL`,
        [this.service.now],
      );
      return row.waiting === 0;
    });
  }

  /** Resolves when every event was attempted, whether or not it could be applied. */
  async eventsAttempted(): Promise<void> {
    await this.stripe.drained();
    await eventually('all events are attempted', async () => {
      const rows = await this.service.sql(`SELECT 1 FROM tasks WHERE kind = 'payment.event' AND attempts = 0`);
      return rows.length === 0;
    });
  }

  /** Resolves when no billing job waits or runs: all events are applied, and their follow-ups have ended. */
  async jobsEnded(): Promise<void> {
    await withQueue(this.service, 'billing', (queue) =>
      eventually('the billing jobs have ended', async () => {
        const counts = await queue.getJobCounts('wait', 'prioritized', 'active');
        return Object.values(counts).every((count) => count === 0);
      }),
    );
  }

  /** Retries failed events right away. */
  async retryEvents(): Promise<void> {
    await makeTasksDue(this.service, 'payment.event');
    await this.drained();
  }

  /** Moves the clock of the running service and of the fake Stripe, which processes what becomes due. */
  async advanceTo(date: Date): Promise<void> {
    const { service, stripe } = this;
    await service.moveClockTo(date, () => stripe.advanceTo(date));
    // Runs the jobs now: their schedules run only twice a minute.
    await Promise.all([
      runJob(this, 'maintenance', 'models.healthCheck'),
      runJob(this, 'maintenance', 'creditPeriods.renew'),
      this.maintain(),
    ]);
    await this.drained();
    await runJob(this, 'maintenance', 'creditPeriods.renew');
    await this.drained();
    await eventually(
      'all periods are turned',
      async () => {
        const [row] = await service.sql(
          `SELECT count(*)::int AS due FROM accounts a JOIN subscriptions s ON s.account_id = a.id AND s.status = 'active'
          WHERE a.plan_slug IS NOT NULL AND a.period_end <= $1 AND a.period_end < s.paid_until`,
          [date],
        );
        return row.due === 0;
      },
      45_000,
    );
  }

  /** Has the workers run what is due by the clock: the maintenance of billing, and tasks. */
  async maintain(): Promise<void> {
    await runJob(this, 'billing', 'billing.maintain');
    await runDueTasks(this.service);
  }

  /** Returns the same customer with the first API as its base URL. */
  onFirstApi(customer: TestCustomer): TestCustomer {
    return customer.on(this.service.baseUrl);
  }

  /** Fails unless the database and the fake Stripe agree. */
  async checkAgainstStripe(): Promise<void> {
    expect(await compareStripeWithDatabase(this.stripe.summarize(), this.service.database)).to.deep.equal([]);
  }

  async stop(): Promise<void> {
    try {
      await this.checkAgainstStripe();
    } finally {
      await this.service.stop();
      await this.stripe.stop();
    }
  }
}

function getWebhookUrl(service: TestService): string {
  return `${service.baseUrl}/api/billing/webhooks/processor/`;
}

/**
 * Starts a service with a fake Stripe. @param options with the plans that have prices there, if not the default ones.
 */
export async function startBillingService(
  options: TestServiceOptions & { startAt?: Date; plans?: readonly Plan[] } = {},
): Promise<BillingService> {
  const stripe = await new FakeStripe(options.plans && { plans: options.plans }).start();
  const offsetMs = options.startAt === undefined ? 0 : options.startAt.getTime() - Date.now();
  stripe.clockOffsetMs = offsetMs;
  const service = await startTestService({
    ...options,
    clockOffsetMs: offsetMs,
    env: { ...stripe.environment, ...options.env },
  });
  stripe.webhookUrl = getWebhookUrl(service);
  return new BillingService(stripe, service);
}

/** {@link startBillingService} before the tests of the suite, and stops it after them. */
export const useBillingService = (...options: Parameters<typeof startBillingService>): BillingService =>
  useService(() => startBillingService(...options));
