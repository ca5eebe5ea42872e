import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { seedImages } from '../harness/seeds.ts';
import { runDueTasks } from '../harness/tasks.ts';
import { eventually } from '../harness/testService.ts';

const switchOnAutoTopups = (customer: TestCustomer, settings: object = {}) =>
  customer.request('PATCH', '/api/billing/topup/settings/', { body: { auto_topup_enabled: true, ...settings } });

/**
 * A page that is opened after a backup and paid before or after the restore: Stripe knows it, the database does not.
 */
describe('top-ups that a restored database does not know', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  /** Opens a page for 1,896 credits, and deletes the order, as a restored database does not have it. */
  async function openForgottenTopup(customer: TestCustomer): Promise<string> {
    const page = await billing.openTopup(customer);
    await billing.service.sql('DELETE FROM topups t USING accounts a WHERE a.id = t.account_id AND a.email = $1', [
      customer.email,
    ]);
    return page;
  }
  const listTopups = (customer: TestCustomer) =>
    billing.service.sql(
      `SELECT t.kind, t.status, t.amount_cents, t.credits, t.stripe_payment_intent_id AS intent
         FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1`,
      [customer.email],
    );

  const countCharges = () => billing.stripe.requests.filter(({ name }) => name === 'intents.create').length;

  it('are recorded from their payment, credited once, and taken back when they are refunded', async () => {
    const customer = await billing.createCustomer('pro');
    const page = await openForgottenTopup(customer);
    Object.assign(billing.stripe.delivery, { duplicate: 1, parallel: 6 });
    billing.stripe.completeCheckout(page);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    const [{ intent, ...topup }, ...others] = await listTopups(customer);
    expect(topup).to.deep.equal({ kind: 'manual', status: 'succeeded', amount_cents: 5_000, credits: 1_896 });
    expect(others).to.deep.equal([]);
    billing.stripe.refund(intent);
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100);
  });

  it('are credited once, also if they were paid long ago and their task comes before the event', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.delivery.pause = true;
    billing.stripe.completeCheckout(await openForgottenTopup(customer));
    const payment = billing.stripe.store
      .list('payment_intent')
      .find((intent) => intent.customer === billing.customerId(customer) && intent.metadata['topup_uuid']);
    // As the event records it, before it is credited.
    await billing.service.sql(
      `WITH topup AS (
         INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, created_at, stripe_payment_intent_id)
         SELECT $2, id, 'manual', 'pending', 5000, 1896, now() - interval '25 hours', $3 FROM accounts WHERE email = $1
         RETURNING uuid, account_id
       )
       INSERT INTO tasks (kind, key, account_id, run_at, created_at)
       SELECT 'topup.page', uuid, account_id, now(), now() FROM topup
       ON CONFLICT (kind, key) DO UPDATE SET run_at = excluded.run_at`,
      [customer.email, payment?.metadata['topup_uuid'], payment?.id],
    );
    await runDueTasks(billing.service);
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect(await customer.balance()).to.equal(1_100 + 1_896);
  });

  it('are not recorded before they are paid', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.completeCheckout(await openForgottenTopup(customer), { async: true });
    await billing.drained();
    expect([await listTopups(customer), await customer.balance()]).to.deep.equal([[], 1_100]);
  });

  it('are credited to no other account, and later if their account is restored as well', async () => {
    const customer = await billing.createCustomer('pro');
    const page = await openForgottenTopup(customer);
    const rename = (uuid: string) =>
      billing.service.sql('UPDATE accounts SET uuid = $2 WHERE email = $1', [customer.email, uuid]);
    const [{ uuid }] = await billing.service.sql('SELECT uuid FROM accounts WHERE email = $1', [customer.email]);
    await rename(randomUUID());
    billing.stripe.completeCheckout(page);
    await billing.drained();
    expect([await listTopups(customer), await customer.balance()]).to.deep.equal([[], 1_100]);
    await rename(uuid);
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await customer.balance()).to.equal(1_100 + 1_896);
  });

  for (const isProcessing of [false, true]) {
    const state = isProcessing ? 'is processing' : 'has succeeded';
    it(`are not charged again for a trigger of the backup while their payment ${state}, and are credited later`, async () => {
      const customer = await billing.createCustomer('pro');
      await switchOnAutoTopups(customer, { auto_topup_threshold_credits: 1_100 });
      const setClaim = (time: string) =>
        billing.service.sql(`UPDATE accounts SET auto_topup_claimed_at = ${time} WHERE email = $1`, [customer.email]);
      // The hour keeps the trigger from being charged before the backup.
      await setClaim('now()');
      await customer.waitForEnd((await customer.createImage()).uuid);
      await billing.jobsEnded();
      await setClaim(`now() - interval '2 hours'`);

      billing.stripe.delivery.drop = 1;
      const page = await openForgottenTopup(customer);
      billing.stripe.completeCheckout(page, { async: isProcessing });
      await runJob(billing, 'billing', 'autoTopups.sweep');
      expect([countCharges(), await customer.balance()]).to.deep.equal([0, 1_092]);
      if (isProcessing) billing.stripe.settlePayment(page, 'succeeded');
      await runJob(billing, 'billing', 'payments.reconcile');
      await runJob(billing, 'billing', 'autoTopups.sweep');
      expect([countCharges(), await customer.balance()]).to.deep.equal([0, 1_092 + 1_896]);
    });
  }

  it('are the automatic ones of their hour if they were, and their dispute switches automatic top-ups off', async () => {
    const customer = await billing.createCustomer('lite');
    await switchOnAutoTopups(customer, { auto_topup_threshold_credits: 200 });
    billing.stripe.delivery.pause = true;
    billing.stripe.faults['intents.create'] = 'drop after doing';
    await customer.createImage();
    const payment = () =>
      billing.stripe.store
        .list('payment_intent')
        .find((intent) => intent.customer === billing.customerId(customer) && intent.metadata['topup_uuid']);
    await eventually('charged', () => payment()?.status === 'succeeded');
    await billing.service.sql(`DELETE FROM tasks WHERE kind = 'topup.charge'`);
    await billing.service.sql(`DELETE FROM topups WHERE status = 'pending'`);
    await billing.service.sql('UPDATE accounts SET auto_topup_claimed_at = NULL WHERE email = $1', [customer.email]);
    delete billing.stripe.faults['intents.create'];
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect((await listTopups(customer)).map(({ kind, status }) => [kind, status])).to.deep.equal([
      ['automatic', 'succeeded'],
    ]);
    await billing.service.checkIntegrity();
    await seedImages(billing.service, customer, await customer.balance());
    const charges = countCharges();
    const { status, body } = await customer.createGeneration(IMAGE);
    expect([status, body.error, countCharges()]).to.deep.equal([402, 'insufficient_credits', charges]);
    billing.stripe.openDispute(payment()?.id as string);
    await billing.drained();
    const settings = await customer.request('GET', '/api/billing/topup/settings/');
    expect(settings.body).to.include({ auto_topup_enabled: false, auto_topup_problem: 'disputed' });
  });
});
