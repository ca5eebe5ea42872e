import { type Job, Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { TestCustomer, createCustomer } from './apiClient.ts';
import { eventually, type TestService, type TestServiceOptions, startTestService } from './testService.ts';
import { compareStripeWithDatabase } from '../fakes/stripe/compareWithDatabase.ts';
import type { Plan } from '../../shared/spec/plans.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';

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

  async subscribe(customer: TestCustomer, plan: string): Promise<void> {
    const { status, body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan } });
    expect(status, JSON.stringify(body)).to.equal(200);
    this.stripe.completeCheckout(body.checkout_url);
    await this.drained();
  }

  async topUp(customer: TestCustomer, amountCents: number): Promise<void> {
    const { status, body } = await customer.request('POST', '/api/billing/topup/', {
      body: { amount_cents: amountCents },
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    this.stripe.completeCheckout(body.checkout_url);
    await this.drained();
  }

  /** Returns the Stripe id of a customer. */
  customerId({ email }: TestCustomer): string {
    return this.stripe.summarize().customers.find((customer) => customer.email === email)?.customerId ?? '';
  }

  /** Resolves when every event of the processor was applied or abandoned. */
  async drained(): Promise<void> {
    await this.stripe.drained();
    await eventually('all events are applied', async () => {
      const [row] = await this.service.sql(
        'SELECT count(*)::int AS waiting FROM payment_events WHERE processed_at IS NULL AND abandoned_at IS NULL',
      );
      return row.waiting === 0;
    });
  }

  /** Resolves when every event was attempted, whether or not it could be applied. */
  async eventsAttempted(): Promise<void> {
    await this.stripe.drained();
    await eventually('all events are attempted', async () => {
      const rows = await this.service.sql(
        'SELECT 1 FROM payment_events WHERE processed_at IS NULL AND abandoned_at IS NULL AND attempts = 0',
      );
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
    await this.service.sql('UPDATE payment_events SET next_attempt_at = now() WHERE processed_at IS NULL');
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
      runJob(this, 'billing', 'billing.maintain'),
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
 * Enqueues a job ahead of its schedule and resolves when it is completed. Polls the state of the job, as events of the
 * queue are trimmed and can be lost. A worker skips a run while the scheduled one is in progress, so one that overlapped
 * with another is repeated.
 * @throws Error if the job failed, with its reason.
 */
export async function runJob({ service }: { service: TestService }, queueName: string, job: string): Promise<void> {
  await withQueue(service, queueName, async (queue) => {
    while (await runBesideAnother(queue, job)) {
      const isRunning = async () => (await queue.getActive()).some(({ name }) => name === job);
      await eventually(`the other ${job} has ended`, async () => !(await isRunning()), 60_000);
    }
  });
}

/** Runs a job once. @returns whether another run of it overlapped. */
async function runBesideAnother(queue: Queue, job: string): Promise<boolean> {
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
  const runs = (await queue.getJobs(['active', 'completed'], 0, 99)).filter(({ name }) => name === job);
  const own = runs.find((run) => run.id === id) as Job;
  return runs.some((run) => run !== own && haveOverlapped(run, own));
}

/** Returns true if both jobs were being processed at the same time. */
function haveOverlapped(one: Job, other: Job): boolean {
  return startedBeforeEnd(one, other) && startedBeforeEnd(other, one);
}

/** Returns true if a job started before another one ended. An active job has not ended yet. */
function startedBeforeEnd({ processedOn = 0 }: Job, { finishedOn = Number.POSITIVE_INFINITY }: Job): boolean {
  return processedOn <= finishedOn;
}

/** Opens a queue of a service, and closes it after use. */
export async function withQueue(
  service: TestService,
  name: string,
  use: (queue: Queue) => Promise<void>,
): Promise<void> {
  const connection = new Redis(service.env['REDIS_URL'] as string, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection, prefix: `{${service.env['REDIS_PREFIX']}:${name}}` });
  try {
    await use(queue);
  } finally {
    await queue.close();
    connection.disconnect();
  }
}

/** Starts a service with a fake Stripe. @param options with the plans that have prices there, if not the default ones. */
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
