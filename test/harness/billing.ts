import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Customer, newCustomer } from './client.ts';
import { eventually, type Service, type ServiceOptions, startService } from './service.ts';
import { compareBooks } from '../../dev/standins/stripe/compare.ts';
import { StripeStandIn } from '../../dev/standins/stripe/standIn.ts';

/** A service that takes payments, the processor that it takes them through, and a clock that both go by. */
export class Billing {
  readonly stripe: StripeStandIn;
  readonly service: Service;

  constructor(stripe: StripeStandIn, service: Service) {
    this.stripe = stripe;
    this.service = service;
  }

  /** Somebody who has signed in, and subscribed by paying on the processor's page. */
  async customer(plan: string | null = 'pro'): Promise<Customer> {
    const customer = await newCustomer(this.service.baseUrl, null);
    if (plan !== null) await this.subscribe(customer, plan);
    return customer;
  }

  async subscribe(customer: Customer, plan: string): Promise<void> {
    const { status, body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan } });
    expect(status, JSON.stringify(body)).to.equal(200);
    this.stripe.completeCheckout(body.checkout_url);
    await this.quiet();
  }

  async topUp(customer: Customer, amountCents: number): Promise<void> {
    const { status, body } = await customer.call('POST', '/api/billing/topup/', {
      body: { amount_cents: amountCents },
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    this.stripe.completeCheckout(body.checkout_url);
    await this.quiet();
  }

  /** What the processor calls somebody. */
  customerId({ email }: Customer): string {
    return this.stripe.books().customers.find((customer) => customer.email === email)?.customerId ?? '';
  }

  /** Resolves when every event of the processor was applied or abandoned. */
  async quiet(): Promise<void> {
    await this.stripe.settled();
    await eventually('all events are applied', async () => {
      const [row] = await this.service.sql(
        'SELECT count(*)::int AS waiting FROM payment_events WHERE applied_at IS NULL AND abandoned_at IS NULL',
      );
      return row.waiting === 0;
    });
  }

  /** Resolves when every event was tried, whether or not it could be applied. */
  async tried(): Promise<void> {
    await this.stripe.settled();
    await eventually('all events are tried', async () => {
      const rows = await this.service.sql(
        'SELECT 1 FROM payment_events WHERE applied_at IS NULL AND abandoned_at IS NULL AND attempts = 0',
      );
      return rows.length === 0;
    });
  }

  /** Retries what could not be applied, now. */
  async retryEvents(): Promise<void> {
    await this.service.sql('UPDATE payment_events SET due_at = now() WHERE applied_at IS NULL');
    await this.quiet();
  }

  /** Lets time pass, in the running service and at the processor, which does what was due on the way. */
  async travelTo(date: Date): Promise<void> {
    const { service, stripe } = this;
    await service.moveClockTo(date, () => stripe.advanceTo(date));
    // Not left to the schedules, which run twice a minute.
    await Promise.all([
      runJob(this, 'upkeep', 'models.check'),
      runJob(this, 'upkeep', 'credits.grant'),
      runJob(this, 'payments', 'billing.keepUp'),
    ]);
    await this.quiet();
    await runJob(this, 'upkeep', 'credits.grant');
    await this.quiet();
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

  /** The same customer, by way of the first API. */
  now(customer: Customer): Customer {
    return customer.via(this.service.baseUrl);
  }

  /** Fails unless the processor's books and ours say the same. */
  async checkBooks(): Promise<void> {
    expect(await compareBooks(this.stripe.books(), this.service.database)).to.deep.equal([]);
  }

  async stop(): Promise<void> {
    try {
      await this.checkBooks();
    } finally {
      await this.service.stop();
      await this.stripe.stop();
    }
  }
}

function webhookOf(service: Service): string {
  return `${service.baseUrl}/api/billing/webhooks/processor/`;
}

/**
 * Has a worker run a job ahead of its schedule. Resolves when it is done. The job's own state is read, not the queue's
 * events: those are trimmed, and a notification can be lost.
 * @throws Error if the job failed, with its reason.
 */
export async function runJob({ service }: { service: Service }, queueName: string, job: string): Promise<void> {
  const connection = new Redis(service.env['REDIS_URL'] as string, { maxRetriesPerRequest: null });
  const queue = new Queue(queueName, { connection, prefix: `{${service.env['REDIS_PREFIX']}}` });
  try {
    const { id } = await queue.add(job, {}, { removeOnComplete: false, removeOnFail: false });
    await eventually(
      `${job} has run`,
      async () => {
        const state = await queue.getJobState(id as string);
        if (state === 'failed') throw new Error(`${job} failed: ${(await queue.getJob(id as string))?.failedReason}`);
        return state === 'completed';
      },
      60_000,
    );
  } finally {
    await queue.close();
    connection.disconnect();
  }
}

/** Starts a service with the stand-in for the payment processor. */
export async function startBilling(options: ServiceOptions & { startAt?: Date } = {}): Promise<Billing> {
  const stripe = await new StripeStandIn().start();
  const offsetMs = options.startAt === undefined ? 0 : options.startAt.getTime() - Date.now();
  stripe.clockOffsetMs = offsetMs;
  const service = await startService({
    ...options,
    clockOffsetMs: offsetMs,
    env: { ...stripe.environment, ...options.env },
  });
  stripe.webhookUrl = webhookOf(service);
  return new Billing(stripe, service);
}
