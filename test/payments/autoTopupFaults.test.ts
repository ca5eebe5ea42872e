import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';

const readSettings = async (customer: TestCustomer) =>
  (await customer.request('GET', '/api/billing/topup/settings/')).body as Record<string, unknown>;
const enableAutoTopups = async (customer: TestCustomer, more: object = {}) => {
  const body = { auto_topup_enabled: true, ...more };
  expect((await customer.request('PATCH', '/api/billing/topup/settings/', { body })).status).to.equal(200);
};

describe('automatic top-ups by the payment processor', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService({ apis: 2 });
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  /** Creates a customer of the smallest plan whose balance is below the price of a 10 s video. */
  const poor = async () => {
    const customer = await billing.createCustomer('lite');
    for (let index = 0; index < 5; index += 1) {
      const { uuid } = await customer.createVideo();
      await customer.waitForEnd(uuid);
    }
    expect(await customer.balance()).to.equal(25);
    return customer;
  };
  const LONG = { model: 'vidmodel-video', params: { duration: 10, resolution: '720p' } };
  const hourLater = (customer: TestCustomer) =>
    billing.service.sql(
      `WITH topup AS (
         UPDATE topups SET created_at = created_at - interval '61 minutes'
          WHERE kind = 'automatic' AND account_id = (SELECT id FROM accounts WHERE email = $1)
       )
       UPDATE accounts SET auto_topup_claimed_at = auto_topup_claimed_at - interval '61 minutes' WHERE email = $1`,
      [customer.email],
    );

  it('pay once for concurrent creates that the balance does not cover', async () => {
    const customer = await poor();
    await enableAutoTopups(customer);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        customer.on(billing.service.baseUrls[index % 2] as string).createGeneration(LONG),
      ),
    );
    // As many as the parallel limit allows.
    expect(responses.filter(({ status }) => status === 201).length).to.equal(2);
    expect(new Set(responses.filter(({ status }) => status !== 201).map(({ body }) => body.error))).to.deep.equal(
      new Set(['parallel_limit_reached']),
    );
    expect((await customer.ledger()).filter(([type]) => type === 'topup')).to.deep.equal([['topup', 1666]]);
  });

  it('return 402 after a decline, are retried an hour later, and switched off after three declines', async () => {
    const customer = await poor();
    await enableAutoTopups(customer);
    billing.stripe.setCard(billing.customerId(customer), 'declined');
    for (const attempt of [1, 2, 3]) {
      const refused = await customer.createGeneration(LONG);
      expect([refused.status, refused.body.error], `attempt ${attempt}`).to.deep.equal([402, 'insufficient_credits']);
      // Not again within the hour.
      expect((await customer.createGeneration(LONG)).status).to.equal(402);
      expect(await readSettings(customer)).to.include({ auto_topup_enabled: attempt < 3 });
      await hourLater(customer);
    }
    expect(await readSettings(customer)).to.include({ auto_topup_problem: 'declined' });
    expect(billing.stripe.requests.filter(({ name }) => name === 'intents.create').length).to.be.at.least(3);
    billing.stripe.setCard(billing.customerId(customer), 'ok');
    await enableAutoTopups(customer);
    expect(await readSettings(customer)).to.not.have.property('auto_topup_problem');
    expect((await customer.createGeneration(LONG)).status).to.equal(201);
  });

  it('return 402 and are switched off if the bank requires authentication', async () => {
    const customer = await poor();
    await enableAutoTopups(customer);
    billing.stripe.setCard(billing.customerId(customer), 'authentication_required');
    expect((await customer.createGeneration(LONG)).status).to.equal(402);
    expect(await readSettings(customer)).to.include({
      auto_topup_enabled: false,
      auto_topup_problem: 'authentication_required',
    });
    expect(await customer.balance()).to.equal(25);
  });

  it('are charged once if the response is lost, and credited when the outcome is known', async () => {
    const customer = await poor();
    await enableAutoTopups(customer);
    billing.stripe.faults['intents.create'] = 'drop after doing';
    // The event may arrive while the create waits.
    expect((await customer.createGeneration(LONG)).status).to.be.oneOf([201, 503]);
    delete billing.stripe.faults['intents.create'];
    await billing.service.sql(
      `UPDATE topups SET created_at = created_at - interval '2 minutes' WHERE status = 'pending'`,
    );
    await makeTasksDue(billing.service, 'topup.charge');
    await billing.maintain();
    await eventually('credited', async () => (await customer.ledger()).some(([type]) => type === 'topup'));
    expect((await customer.ledger()).filter(([type]) => type === 'topup')).to.have.length(1);
    expect((await customer.createGeneration(LONG)).status).to.equal(201);
  });

  it('are charged once after an outage, however many hours it lasted', async () => {
    const customer = await poor();
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 100 });
    billing.stripe.faults['intents.create'] = 'error';
    for (let hour = 0; hour < 3; hour += 1) {
      expect((await customer.createGeneration(LONG)).status).to.equal(503);
      await hourLater(customer);
      await runJob(billing, 'billing', 'autoTopups.sweep');
    }
    delete billing.stripe.faults['intents.create'];
    await billing.service.sql(
      `UPDATE topups SET created_at = created_at - interval '2 minutes' WHERE status = 'pending'`,
    );
    await makeTasksDue(billing.service, 'topup.charge');
    // The first one is abandoned by then. Without a burn in the meantime, only the next create triggers another.
    await billing.maintain();
    await runJob(billing, 'billing', 'autoTopups.sweep');
    expect(await customer.balance()).to.equal(25);
    expect((await customer.createGeneration(LONG)).status).to.equal(201);
    expect(await customer.balance()).to.equal(25 + 1666 - 70);
    expect((await customer.ledger()).filter(([type]) => type === 'topup')).to.have.length(1);
  });

  it('follow a burn that leaves less than the threshold', async () => {
    const customer = await billing.createCustomer('lite');
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 190 });
    const { uuid } = await customer.createImage(`below ${randomUUID()}`);
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect((await customer.ledger()).filter(([type]) => type === 'topup')).to.have.length(0);
    await customer.createImage();
    await eventually('topped up', async () => (await customer.balance()) > 1_000);
  });

  it('need a payment method, which is read from the processor', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.removePaymentMethod(billing.customerId(customer));
    const { status, body } = await customer.request('PATCH', '/api/billing/topup/settings/', {
      body: { auto_topup_enabled: true, auto_topup_amount_cents: 7_000 },
    });
    expect([status, body.error]).to.deep.equal([402, 'subscription_required']);
    expect(await readSettings(customer)).to.include({ auto_topup_enabled: false, auto_topup_amount_cents: 5_000 });
    expect((await customer.request('GET', '/api/billing/status/')).body.has_payment_method).to.equal(false);
  });
});
