import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { addMonths } from '../../shared/lib/calendar.ts';
import { succeedIntent } from '../fakes/stripe/paymentIntents.ts';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { enableAutoTopups, LONG_VIDEO, sweepAutoTopups } from '../harness/autoTopups.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob, withQueue } from '../harness/jobs.ts';
import { seedImages, setModelHealth } from '../harness/seeds.ts';
import { eventually } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';
import { findTopups } from '../harness/topupInvoices.ts';

const DAY_S = 86_400;
const MINUTE_MS = 60_000;

const create = (customer: TestCustomer, body: object = LONG_VIDEO) =>
  customer.request('POST', '/api/generations/create/', {
    body: { prompt: 'a harbour', ...body },
    headers: { 'idempotency-key': randomUUID() },
  });
describe('an automatic top-up that is not needed', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const sql = (text: string, { email }: TestCustomer) => billing.service.sql(text, [email]);
  const sweep = () => sweepAutoTopups(billing.service);
  const readAccount = async (customer: TestCustomer) =>
    (await sql('SELECT * FROM accounts WHERE email = $1', customer))[0];
  const listAutomatic = async (customer: TestCustomer) => {
    const rows = (await findTopups(billing, customer)).filter(({ kind }) => kind === 'automatic');
    return rows.map(({ status, failure_code: code }) => (code === null ? status : `${status}: ${code}`));
  };
  const countCharges = () => billing.stripe.requests.filter(({ name }) => name === 'intents.create').length;
  const settlePending = async () => {
    await makeTasksDue(billing.service, 'topup.charge', 'topup.page');
    await billing.maintain();
  };

  /** Creates a subscriber with so many credits. */
  const subscriberWith = async (credits: number, settings: object | null = {}) => {
    const customer = await billing.createCustomer('lite');
    await seedImages(billing.service, customer, 200 - credits);
    if (settings !== null) await enableAutoTopups(customer, settings);
    return customer;
  };
  /** Records a trigger by a burn, which the hour keeps from being charged at once. */
  const trigger = async (customer: TestCustomer) => {
    await sql('UPDATE accounts SET auto_topup_claimed_at = now() WHERE email = $1', customer);
    const { status, body } = await create(customer, IMAGE);
    expect(status).to.equal(201);
    // A test that moves the clock would pass its deadline.
    await customer.waitForEnd(body.uuid);
    await billing.jobsEnded();
    await sql(`UPDATE accounts SET auto_topup_claimed_at = now() - interval '2 hours' WHERE email = $1`, customer);
    expect((await readAccount(customer)).auto_topup_triggered_at).to.not.equal(null);
  };

  /** Moves the clock shortly past the end of the customer's month, without the job that renews it. */
  const withoutRenewal = (customer: TestCustomer, work: () => Promise<void>) =>
    withQueue(billing.service, 'maintenance', async (queue) => {
      await queue.pause();
      const isRenewing = async () => (await queue.getActive()).some(({ name }) => name === 'creditPeriods.renew');
      await eventually('no renewal runs', async () => !(await isRenewing()));
      const { started_at: startedAt } = (
        await sql(
          `SELECT s.started_at FROM subscriptions s JOIN accounts a ON a.subscription_id = s.id WHERE a.email = $1`,
          customer,
        )
      )[0];
      const date = new Date(addMonths(startedAt, 1).getTime() + MINUTE_MS);
      for (const model of ['vidmodel-video', 'imgmodel-2'] as const)
        await setModelHealth(billing.service, model, 'online', -70 * DAY_S);
      try {
        await billing.service.moveClockTo(date, () => billing.stripe.advanceTo(date));
        await work();
      } finally {
        await queue.resume();
        // Invariants compare the top-ups with the grants.
        await runJob(billing, 'maintenance', 'creditPeriods.renew');
        // Back by the month: subscriptions of later tests begin where those of earlier ones did.
        await billing.service.moveClockTo(new Date(Date.now()), () => (billing.stripe.clockOffsetMs = 0));
      }
    });
  /** Claims a top-up for a create, whose charge does not reach Stripe. */
  const claimWithoutCharge = async (customer: TestCustomer) => {
    billing.stripe.faults['intents.create'] = 'drop';
    expect((await create(customer)).status).to.equal(503);
    billing.stripe.reset();
    expect(await listAutomatic(customer)).to.deep.equal(['pending']);
  };

  /** Settles the pending top-up of a customer, whose card must not be charged. */
  const expectCanceled = async (customer: TestCustomer) => {
    const charges = countCharges();
    await settlePending();
    expect(await listAutomatic(customer)).to.deep.equal(['failed: canceled']);
    expect(countCharges()).to.equal(charges);
  };

  describe('because a month has ended whose renewal has not run', () => {
    it('is not charged for a create, which the due grant covers', async () => {
      const customer = await subscriberWith(60);
      await withoutRenewal(customer, async () => {
        const { status, body } = await create(customer);
        expect(status).to.equal(201);
        expect(await listAutomatic(customer)).to.deep.equal([]);
        expect((await customer.ledger()).slice(-4)).to.deep.equal([
          ['expiry', -60],
          ['rollover', 60],
          ['grant', 200],
          ['burn', -70],
        ]);
        await customer.waitForEnd(body.uuid);
      });
    });

    it('is not charged for a recorded trigger, which the due grant clears', async () => {
      const customer = await subscriberWith(60, { auto_topup_threshold_credits: 100 });
      await trigger(customer);
      await withoutRenewal(customer, async () => {
        await sweep();
        expect(await listAutomatic(customer)).to.deep.equal([]);
        expect((await readAccount(customer)).auto_topup_triggered_at).to.equal(null);
        expect(await customer.balance()).to.equal(252);
      });
    });

    it('leaves no 402 to a customer without automatic top-ups, nor to an estimate', async () => {
      const customers = [await subscriberWith(60, null), await subscriberWith(60, null)] as const;
      await withoutRenewal(customers[1], async () => {
        const created = await create(customers[0]);
        expect(created.status).to.equal(201);
        await customers[0].waitForEnd(created.body.uuid);
        const { body } = await customers[1].request('POST', '/api/generations/estimate/', {
          body: { prompt: 'a harbour', ...LONG_VIDEO },
        });
        expect(body).to.include({ affordable: true, balance: 260, refusal: null });
      });
    });
  });

  describe('because the customer has paid already', () => {
    it('is not charged for a create while the event of a paid page is late', async () => {
      const customer = await subscriberWith(60);
      const page = await billing.openTopup(customer, 20_000);
      billing.stripe.delivery.pause = true;
      billing.stripe.completeCheckout(page);
      const charges = countCharges();
      expect((await create(customer)).status).to.equal(201);
      expect(await listAutomatic(customer)).to.deep.equal([]);
      expect(countCharges()).to.equal(charges);
      billing.stripe.delivery.pause = false;
      await billing.drained();
      expect(await customer.balance()).to.equal(60 + 6_666 - 70);
    });

    it('is not charged for a recorded trigger while the event of a paid page is late', async () => {
      const customer = await subscriberWith(60, { auto_topup_threshold_credits: 100 });
      await trigger(customer);
      const page = await billing.openTopup(customer, 20_000);
      billing.stripe.delivery.pause = true;
      billing.stripe.completeCheckout(page);
      await sweep();
      expect(await listAutomatic(customer)).to.deep.equal([]);
      expect(await customer.balance()).to.equal(52 + 6_666);
    });

    it('is not charged while the event of a paid upgrade is late', async () => {
      const customer = await subscriberWith(60);
      const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
      billing.stripe.delivery.pause = true;
      expect(billing.stripe.confirmPlanSwitch(body.checkout_url)).to.equal('switched');
      expect((await create(customer)).status).to.equal(201);
      expect(await listAutomatic(customer)).to.deep.equal([]);
      expect(await customer.balance()).to.equal(60 + 900 - 70);
    });

    it('is charged at the rate of the new plan if a paid upgrade does not cover the need', async () => {
      const customer = await subscriberWith(60, { auto_topup_threshold_credits: 5_000 });
      await trigger(customer);
      const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
      billing.stripe.delivery.pause = true;
      expect(billing.stripe.confirmPlanSwitch(body.checkout_url)).to.equal('switched');
      await sweep();
      expect(await customer.balance()).to.equal(52 + 900 + 1_896);
    });

    it('is not charged while the processor does not say what was paid, and the create is a 503 that says so', async () => {
      const customer = await subscriberWith(60);
      const page = await billing.openTopup(customer, 20_000);
      billing.stripe.delivery.pause = true;
      billing.stripe.completeCheckout(page);
      billing.stripe.faults['checkout.retrieve'] = 'error';
      const { status, body } = await create(customer);
      expect([status, body.error]).to.deep.equal([503, 'internal_error']);
      expect(body.detail).to.include('does not say whether a purchase was paid').and.include('charged no credits');
      expect(await listAutomatic(customer)).to.deep.equal([]);
      delete billing.stripe.faults['checkout.retrieve'];
      expect((await create(customer)).status).to.equal(201);
      expect(await listAutomatic(customer)).to.deep.equal([]);
    });
  });

  describe('any longer when its charge is retried', () => {
    it('is canceled after the customer has bought credits by hand', async () => {
      const customer = await subscriberWith(60);
      await claimWithoutCharge(customer);
      await billing.topUp(customer, 20_000);
      await expectCanceled(customer);
    });

    it('is canceled after the customer has paid a page whose event is late', async () => {
      const customer = await subscriberWith(60);
      await claimWithoutCharge(customer);
      const page = await billing.openTopup(customer, 20_000);
      billing.stripe.delivery.pause = true;
      billing.stripe.completeCheckout(page);
      await expectCanceled(customer);
    });

    it('is canceled after the balance has recovered to the threshold', async () => {
      const customer = await subscriberWith(60, { auto_topup_threshold_credits: 100 });
      billing.stripe.faults['intents.create'] = 'drop';
      await trigger(customer);
      await sweep();
      billing.stripe.reset();
      expect(await listAutomatic(customer)).to.deep.equal(['pending']);
      await billing.topUp(customer, 5_000);
      await expectCanceled(customer);
    });

    it('is charged while the create still needs it, although the balance is above the threshold', async () => {
      const customer = await subscriberWith(60);
      await claimWithoutCharge(customer);
      await settlePending();
      expect(await listAutomatic(customer)).to.deep.equal(['succeeded']);
      expect(await customer.balance()).to.equal(60 + 1_666);
    });

    it('is not charged by a process that resumes after another one has canceled it', async () => {
      const customer = await subscriberWith(60);
      billing.stripe.latencyMs = 1_000;
      const from = billing.stripe.requests.length;
      const creating = create(customer);
      await eventually('the card is read', () =>
        billing.stripe.requests.slice(from).some(({ name }) => name === 'customers.retrieve'),
      );
      await billing.service.sql(
        `UPDATE topups SET status = 'failed', failure_code = 'canceled', completed_at = now() WHERE status = 'pending'`,
      );
      const charges = countCharges();
      expect((await creating).status).to.equal(402);
      expect(countCharges()).to.equal(charges);
    });
  });

  it('is not charged while a bank processes an earlier one, and creates are a 402 that says so', async () => {
    const customer = await subscriberWith(60);
    billing.stripe.setCard(billing.customerId(customer), 'processing');
    // The outcome of its own top-up is not known.
    expect((await create(customer)).status).to.equal(503);
    await sql(
      `UPDATE topups SET created_at = created_at - interval '2 minutes' WHERE status = 'pending'
          AND account_id = (SELECT id FROM accounts WHERE email = $1)`,
      customer,
    );
    const { status, body } = await create(customer);
    expect([status, body.error]).to.deep.equal([402, 'insufficient_credits']);
    expect(body.detail).to.match(/The bank is still processing an automatic top-up, which can take days/);
    const estimate = await customer.request('POST', '/api/generations/estimate/', {
      body: { prompt: 'a harbour', ...LONG_VIDEO },
    });
    expect(estimate.body.refusal).to.deep.equal({ error: 'insufficient_credits', detail: body.detail });
    expect(await listAutomatic(customer)).to.deep.equal(['pending']);
    const [{ stripe_payment_intent_id: intentId }] = await findTopups(billing, customer);
    const { store } = billing.stripe;
    const intent = store.get('payment_intent', intentId);
    succeedIntent(store, intent, intent.payment_method as string);
    await billing.drained();
    expect((await create(customer)).status).to.equal(201);
  });
});
