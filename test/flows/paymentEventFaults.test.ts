import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { type BillingService, runJob, startBillingService } from '../harness/billingService.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';

const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } };

const readSettings = async (customer: TestCustomer) =>
  (await customer.request('GET', '/api/billing/topup/settings/')).body as Record<string, unknown>;
const enableAutoTopups = async (customer: TestCustomer, more: object = {}) => {
  const body = { auto_topup_enabled: true, ...more };
  expect((await customer.request('PATCH', '/api/billing/topup/settings/', { body })).status).to.equal(200);
};

describe('events of the payment processor', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService({ apis: 2, workers: 2 });
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  it('lead to one grant and one top-up in any order, duplicated and concurrent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000 }), fc.boolean(), async (delayMs, switches) => {
        Object.assign(billing.stripe.delivery, { duplicate: 0.6, reorder: true, parallel: 6, delayMs: delayMs % 40 });
        const customer = await billing.createCustomer('lite');
        await billing.topUp(customer, 5_000);
        if (switches) {
          const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
          billing.stripe.confirmPlanSwitch(body.checkout_url);
          await billing.drained();
        }
        const bought = Math.floor((5_000 * 200) / 600);
        expect(await customer.balance()).to.equal((switches ? 3000 : 200) + bought);
        const ledger = await customer.ledger();
        expect(ledger.filter(([type]) => type === 'topup')).to.deep.equal([['topup', bought]]);
        expect(ledger.filter(([type]) => type === 'grant').map(([, amount]) => amount)).to.deep.equal(
          switches ? [200, 2800] : [200],
        );
      }),
      { numRuns: 6, seed: 4 },
    );
  }).timeout(120_000);

  it('are replaced by the reconciler if they never arrive', async () => {
    billing.stripe.delivery.drop = 1;
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    billing.stripe.completeCheckout(body.checkout_url);
    expect(await customer.balance()).to.equal(0);
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('subscribed', async () => (await customer.balance()) === 1100);
    const topup = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 10_000 } });
    billing.stripe.completeCheckout(topup.body.checkout_url);
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('topped up', async () => (await customer.balance()) === 1100 + 3793);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('wait while the processor is unavailable, and are applied when it is back', async () => {
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'starter' } });
    billing.stripe.faults.all = 'error';
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.stripe.drained();
    await eventually('tried', async () => {
      const rows = await billing.service.sql(
        'SELECT 1 FROM payment_events WHERE processed_at IS NULL AND attempts > 0',
      );
      return rows.length > 0;
    });
    expect(await customer.balance()).to.equal(0);
    delete billing.stripe.faults.all;
    await billing.drained();
    expect(await customer.balance()).to.equal(400);
  });

  it('are acknowledged while no worker runs, and not lost', async () => {
    await Promise.all(billing.service.workers.map((worker) => worker.kill()));
    billing.service.workers.length = 0;
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.stripe.drained();
    await billing.service.startWorker();
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    await billing.service.startWorker();
  });

  it('end a second subscription, as an account has one', async () => {
    const customer = await billing.createCustomer(null);
    const pages: string[] = [];
    for (const [index, plan] of ['lite', 'pro'].entries()) {
      const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan } });
      pages.push(body.checkout_url);
      // Pages created in the same second have no order on the processor's clock.
      billing.stripe.store.get('checkout.session', String(body.checkout_url).split('/').at(-1)).created -= 1 - index;
    }
    // The first page was closed when the second was opened.
    expect(() => billing.stripe.completeCheckout(pages[0] as string)).to.throw();
    billing.stripe.completeCheckout(pages[1] as string);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100);
  });

  it('take back the credits of a refund, as far as the balance has them', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.topUp(customer, 10_000);
    const [topup] = await billing.service.sql('SELECT * FROM topups ORDER BY created_at DESC LIMIT 1');
    billing.stripe.refund(topup.stripe_payment_intent_id, 4_000);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100 + 3793 - Math.floor((3793 * 4_000) / 10_000));
    billing.stripe.refund(topup.stripe_payment_intent_id);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100);
  });

  it('take back the credits of a dispute, and return them when it is won', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.topUp(customer, 5_000);
    const [topup] = await billing.service.sql('SELECT * FROM topups ORDER BY created_at DESC LIMIT 1');
    const dispute = billing.stripe.openDispute(topup.stripe_payment_intent_id);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    expect(await customer.balance()).to.equal(1100 + 1896);
  });

  it('suspend a disputed subscription, and end it when the dispute is lost', async () => {
    const customer = await billing.createCustomer('pro');
    const { latest_invoice: invoice } = billing.stripe.findSubscription(billing.customerId(customer));
    const dispute = billing.stripe.openDispute(getId(invoice));
    await billing.drained();
    expect((await customer.createGeneration(IMAGE)).body.error).to.equal('subscription_required');
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.closeDispute(dispute.id, 'lost');
    await billing.drained();
    expect(await customer.balance()).to.equal(0);
    expect((await customer.request('GET', '/api/billing/status/')).body).to.include({ status: 'canceled', plan: null });
  });

  it('end a subscription that is canceled immediately, or refunded', async () => {
    const [cancelled, refunded] = [await billing.createCustomer('pro'), await billing.createCustomer('lite')];
    billing.stripe.cancelNow(billing.customerId(cancelled));
    billing.stripe.refund(getId(billing.stripe.findSubscription(billing.customerId(refunded)).latest_invoice));
    await billing.drained();
    for (const customer of [cancelled, refunded]) {
      await eventually('ended', async () => (await customer.balance()) === 0);
      expect((await customer.request('GET', '/api/billing/status/')).body.status).to.equal('canceled');
    }
  });

  it('do not end a paid subscription if they were missed', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.service.sql(
      `UPDATE subscriptions SET status = 'past_due', past_due_since = now() - interval '15 days'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    await runJob(billing, 'billing', 'billing.maintain');
    const status = async () => (await customer.request('GET', '/api/billing/status/')).body.status;
    await eventually('active', async () => (await status()) === 'active');
    expect(await customer.balance()).to.equal(1100);
    expect(
      billing.stripe.summarize().customers.find(({ email }) => email === customer.email)?.subscription?.status,
    ).to.equal('active');
  });

  it('change nothing before the renewal for a downgrade', async () => {
    const customer = await billing.createCustomer('pro');
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    expect(billing.stripe.confirmPlanSwitch(body.checkout_url)).to.equal('scheduled');
    await billing.drained();
    expect((await customer.request('GET', '/api/billing/status/')).body.plan.slug).to.equal('pro');
    expect(await customer.balance()).to.equal(1100);
  });
});

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
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        customer.on(billing.service.baseUrls[index % 2] as string).createGeneration(LONG),
      ),
    );
    // As many as the plan lets run at a time.
    expect(answers.filter(({ status }) => status === 201).length).to.equal(2);
    expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.error))).to.deep.equal(
      new Set(['parallel_limit_reached']),
    );
    expect((await customer.ledger()).filter(([type]) => type === 'topup')).to.deep.equal([['topup', 1666]]);
  });

  it('answer 402 after a decline, are retried an hour later, and switched off after three declines', async () => {
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

  it('answer 402 and are switched off if the bank requires authentication', async () => {
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
      `UPDATE topups SET created_at = created_at - interval '2 minutes', next_attempt_at = now() WHERE status = 'pending'`,
    );
    await runJob(billing, 'billing', 'billing.maintain');
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
      `UPDATE topups SET created_at = created_at - interval '2 minutes', next_attempt_at = now() WHERE status = 'pending'`,
    );
    // The first is given up after so long; without a burn in the meantime, only the next create asks for another.
    await runJob(billing, 'billing', 'billing.maintain');
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
