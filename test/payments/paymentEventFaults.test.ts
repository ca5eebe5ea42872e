import { expect } from 'chai';
import fc from 'fast-check';
import { EVENT_TYPES } from '../../shared/gateways/payments/stripeWebhook.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { eventually } from '../harness/testService.ts';
import { readTasks } from '../harness/tasks.ts';

describe('events of the payment processor', () => {
  const billing = useBillingService({ apis: 2, workers: 2 });
  afterEach(() => billing.stripe.reset());

  it('lead to one grant and one top-up in any order, duplicated and concurrent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000 }), fc.boolean(), async (delayMs, switches) => {
        Object.assign(billing.stripe.delivery, { duplicate: 0.6, reorder: true, parallel: 6, delayMs: delayMs % 40 });
        const customer = await billing.createCustomer('lite');
        await billing.topUp(customer, 5_000);
        if (switches) {
          billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
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
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'pro'));
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
      const events = await readTasks(billing.service, 'payment.event');
      return events.some(({ attempts }) => attempts > 0);
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
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'lite'));
    await billing.stripe.drained();
    await billing.service.startWorker();
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    await billing.service.startWorker();
  });

  it('are acknowledged and done if their type is not used or their object is not of this service', async () => {
    billing.stripe.webhookEvents = [];
    const customer = await billing.createCustomer('lite');
    const types = [...EVENT_TYPES, 'invoice.created', 'product.updated', 'v2.core.event_destination.ping', 'x'];
    for (const type of types) {
      for (const [id, version] of [
        ['foreign_1', '2015-10-16'],
        ['evt_of_a_later_version', '2099-01-01.later'],
      ] as const)
        billing.stripe.sendEvent(type, { id, object: { nested: [null] }, customer: { id: 7 } } as never, version);
    }
    await billing.drained();
    expect(await readTasks(billing.service, 'payment.event')).to.deep.equal([]);
    const { attempts } = billing.stripe.delivery;
    expect(attempts.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(attempts.map(({ type }) => type)).to.include.members([
      'invoice.created',
      'invoice.finalized',
      'product.updated',
    ]);
    expect(await customer.balance()).to.equal(200);
  });

  it('have their effect whatever the API version and the shape of their copy of the object', async () => {
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(body.checkout_url);
    billing.stripe.delivery.drop = 0;
    const { id } = billing.subscription(customer);
    // Such as the copy of an old version, which has other fields.
    billing.stripe.sendEvent(
      'customer.subscription.updated',
      { id, object: 'subscription', plan: { id: 'gold' }, status: 'paused', items: null, ended_at: 1 } as never,
      '2015-10-16',
    );
    await billing.drained();
    expect((await customer.request('GET', '/api/billing/status/')).body.status).to.equal('active');
    expect(await customer.balance()).to.equal(200);
    billing.stripe.delivery.dropped.length = 0;
  });
});
