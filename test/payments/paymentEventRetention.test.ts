import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { changeOwner } from '../harness/people.ts';
import { eventually } from '../harness/testService.ts';
import { readTasks, runDueTasks } from '../harness/tasks.ts';

const getBillingStatus = async (customer: TestCustomer) => (await customer.request('GET', '/api/billing/status/')).body;

describe('payment events', () => {
  const staffEmail = `${randomUUID()}@example.com`;
  const billing = useBillingService({ env: { STAFF_EMAILS: staffEmail } });
  afterEach(() => billing.stripe.reset());

  const event = async (id: string) =>
    (await billing.service.sql('SELECT * FROM payment_events WHERE event_id = $1', [id]))[0];
  const task = async (id: string) => (await readTasks(billing.service, 'payment.event')).find(({ key }) => key === id);
  const lastEvent = (type: string) => billing.stripe.events.findLast((event) => event.type === type);
  let staff: TestCustomer | undefined;
  const staffPage = async () => {
    if (staff === undefined) {
      staff = await billing.createCustomer(null);
      await changeOwner(billing.service, staff.email, 'email', staffEmail);
    }
    const response = await fetch(`${billing.service.baseUrl}/admin/`, { headers: { cookie: staff.cookie } });
    return response.text();
  };

  it('are given up after three days of failures, shown to staff, and retried when they are resent', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.faults.all = 'error';
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await billing.eventsAttempted();
    const { id } = lastEvent('customer.subscription.updated') as { id: string };
    await billing.service.sql(
      `UPDATE tasks SET created_at = created_at - interval '71 hours', attempts = 20, run_at = now() WHERE key = $1`,
      [id],
    );
    await eventually('retried', async () => (await task(id)).attempts === 21);
    expect((await task(id)).run_at).to.not.equal(null);
    await billing.service.sql(
      `UPDATE tasks SET created_at = created_at - interval '2 hours', run_at = now() WHERE key = $1`,
      [id],
    );
    await eventually('given up', async () => (await task(id)).run_at === null);
    delete billing.stripe.faults.all;
    await runDueTasks(billing.service);
    expect((await event(id)).processed_at).to.equal(null);
    expect(await staffPage()).to.include('payment.event');

    billing.stripe.delivery.resend(lastEvent('customer.subscription.updated') as never);
    await billing.drained();
    expect(await task(id)).to.equal(undefined);
    expect((await event(id)).processed_at).to.not.equal(null);
    expect(await getBillingStatus(customer)).to.include({ cancel_at_period_end: true });
    expect(await staffPage()).to.not.include('payment.event');
  });

  it('wait for a new subscription with an unknown price, and are applied once the price is known', async () => {
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    billing.stripe.delivery.pause = true;
    billing.stripe.completeCheckout(body.checkout_url);
    const { id } = billing.subscription(customer);
    const price = billing.stripe.store.get('subscription', id).items.data[0]?.price as { id: string };
    const known = price.id;
    price.id = 'price_unknown';
    billing.stripe.delivery.pause = false;
    await billing.eventsAttempted();
    expect(await customer.balance()).to.equal(0);
    const [{ last_error: lastError }] = await readTasks(billing.service, 'payment.event');
    expect(lastError).to.include('STRIPE_PRICE_');
    price.id = known;
    await billing.retryEvents();
    expect(await customer.balance()).to.equal(1100);
  });

  it('of a subscription of another product on the same customer change nothing and are not retried', async () => {
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    billing.stripe.delivery.pause = true;
    billing.stripe.completeCheckout(body.checkout_url);
    const { id } = billing.subscription(customer);
    const subscription = billing.stripe.store.get('subscription', id);
    const price = subscription.items.data[0]?.price as { id: string };
    const ours = { price: price.id, metadata: subscription.metadata };
    price.id = 'price_of_another_product';
    subscription.metadata = {};
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect(await customer.balance()).to.equal(0);
    expect((await getBillingStatus(customer)).status).to.equal('none');

    price.id = ours.price;
    subscription.metadata = ours.metadata;
    const { id: created } = lastEvent('customer.subscription.created') as { id: string };
    expect((await event(created)).processed_at).to.not.equal(null);
    expect(await task(created)).to.equal(undefined);
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await customer.balance()).to.equal(1100);
  });

  it('of an unused type whose object has no id are acknowledged, and not stored', async () => {
    const { id } = billing.stripe.sendEvent('balance.available', { object: 'balance' } as never);
    await billing.drained();
    expect(await event(id)).to.equal(undefined);
  });

  it('of a customer without an account are kept without their contents', async () => {
    const customer = { id: 'cus_of_an_erased_account', object: 'customer', email: 'erased@example.com' };
    const { id } = billing.stripe.sendEvent('customer.updated', customer);
    await billing.drained();
    const { processed_at: processedAt, payload } = await event(id);
    expect(processedAt).to.not.equal(null);
    expect(payload).to.equal('');
  });

  it('keep has_payment_method in sync with the processor', async () => {
    const customer = await billing.createCustomer('lite');
    expect(await getBillingStatus(customer)).to.include({ has_payment_method: true });
    billing.stripe.removePaymentMethod(billing.customerId(customer));
    await billing.drained();
    expect(await getBillingStatus(customer)).to.include({ has_payment_method: false });
    billing.stripe.setCard(billing.customerId(customer), 'ok');
    await billing.drained();
    expect(await getBillingStatus(customer)).to.include({ has_payment_method: true });
  });

  it('are deleted in batches after 60 days, and saved responses of idempotent requests after a day', async () => {
    const [{ id: account }] = await billing.service.sql('SELECT id FROM accounts LIMIT 1');
    const waiting = `evt_${randomUUID()}`;
    await billing.service.sql(
      `WITH event AS (
         INSERT INTO payment_events (event_id, type, object_id, payload, received_at, processed_at)
         SELECT 'evt_old_' || i, 'product.created', 'x', '{}', now() - interval '61 days', CASE WHEN i % 2 = 0 THEN now() END
           FROM generate_series(1, 2500) AS i
         UNION ALL SELECT $1, 'product.created', 'x', '{}', now() - interval '61 days', NULL
         RETURNING event_id, processed_at
       )
       INSERT INTO tasks (kind, key, run_at, attempts, created_at)
       SELECT 'payment.event', event_id, CASE event_id WHEN $1 THEN now() + interval '1 day' END, 20, now()
         FROM event WHERE processed_at IS NULL`,
      [waiting],
    );
    await billing.service.sql(
      `INSERT INTO idempotent_requests (account_id, scope, key_hash, id, request_hash, created_at)
       SELECT $1, 'old', decode(md5(i::text), 'hex'), gen_random_uuid(), '', now() - interval '25 hours'
         FROM generate_series(1, 2500) AS i`,
      [account],
    );
    const recent = await billing.service.sql(
      `SELECT 1 FROM payment_events WHERE received_at > now() - interval '1 day'`,
    );
    await runJob(billing, 'maintenance', 'rows.prune');
    const events = await billing.service.sql('SELECT event_id FROM payment_events');
    expect(events.length).to.be.at.least(recent.length + 1);
    expect(events.some(({ event_id: id }) => id === waiting)).to.equal(true);
    expect(events.filter(({ event_id: id }) => id.startsWith('evt_old_'))).to.have.length(0);
    expect(await billing.service.sql(`SELECT 1 FROM idempotent_requests WHERE scope = 'old'`)).to.have.length(0);
    await billing.service.sql('DELETE FROM payment_events WHERE event_id = $1', [waiting]);
    await billing.service.sql(`DELETE FROM tasks WHERE kind = 'payment.event'`);
  });
});
