import { expect } from 'chai';
import type Stripe from 'stripe';
import { addPrice } from '../fakes/stripe/catalog.ts';
import { runBundled } from '../harness/builtPrograms.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';

describe('the prices of the plans at Stripe', () => {
  const billing = useBillingService({ apis: 0, workers: 0 });
  afterEach(() => billing.stripe.reset());

  const env = (changes: Record<string, string> = {}) => ({ ...billing.service.env, PORT: '0', ...changes });
  const sold = () => billing.stripe.store.get('price', billing.stripe.prices.pro);
  const add = (fields: object) => addPrice(billing.stripe.store, { product: 'prod_x', unitAmount: 34_800, ...fields });

  for (const [problem, change, sentence] of [
    ['is unknown', () => 'price_mistyped', /has no such price/],
    ['is that of another amount', () => add({ unitAmount: 3_480 }).id, /3480 cents a year there, and the plan 34800/],
    ['is monthly', () => add({ interval: 'month' }).id, /not charged once a year/],
    ['is charged once', () => add({ interval: null }).id, /not charged once a year/],
    ['is in another currency', () => add({ currency: 'eur' }).id, /in eur there, not in usd/],
    ['is archived', () => Object.assign(add({}), { active: false }).id, /archived there/],
    ['is metered', () => withRecurring(add({}), { usage_type: 'metered' }).id, /not charged once a year/],
    ['is charged every two years', () => withRecurring(add({}), { interval_count: 2 }).id, /not charged once a year/],
    ['has an unknown former one', () => `${sold().id},price_mistyped`, /price_mistyped: .+ has no such price/],
    ['has a monthly former one', () => `${sold().id},${add({ interval: 'month' }).id}`, /not charged once a year/],
  ] as const) {
    it(`prevents the start of both processes with a message that names the variable if a price ${problem}`, async () => {
      const wrong = env({ STRIPE_PRICE_PRO: change() });
      for (const program of ['api', 'worker'] as const) {
        const { status, err } = await runBundled(program, [], { env: wrong });
        expect(status, err).to.equal(78);
        expect(err)
          .to.match(/^STRIPE_PRICE_PRO must not contain price_\w+: /)
          .and.match(sentence);
        expect(err.trim().split('\n')).to.have.length(1);
      }
    });
  }

  it('allow a former price of another amount, also an archived one', async () => {
    const former = Object.assign(add({ unitAmount: 30_000 }), { active: false });
    const worker = await billing.service.startWorker({ STRIPE_PRICE_PRO: `${sold().id}, ${former.id}` });
    expect(worker.logs()).to.include('worker ready');
    await worker.stop();
  });

  for (const fault of ['error', 'hang', 'drop', 'busy'] as const) {
    it(`are checked by the reconciliation if Stripe does not answer at the start (${fault})`, async () => {
      const price = sold();
      billing.stripe.faults['prices.retrieve'] = fault;
      price.unit_amount = 1;
      const worker = await billing.service.startWorker();
      try {
        expect(worker.logs()).to.include('prices of plans not checked');
        billing.stripe.reset();
        const failed = await runJob(billing, 'billing', 'payments.reconcile').catch((error: Error) => error);
        expect(String(failed)).to.match(/STRIPE_PRICE_PRO must not contain/);
        price.unit_amount = 34_800;
        await runJob(billing, 'billing', 'payments.reconcile');
      } finally {
        price.unit_amount = 34_800;
        await worker.stop();
      }
    });
  }
});

function withRecurring(price: Stripe.Price, change: Partial<Stripe.Price.Recurring>): Stripe.Price {
  Object.assign(price.recurring as object, change);
  return price;
}
