import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import {
  ageAutoTopups,
  changeTopupSettings,
  enableAutoTopups,
  LONG_VIDEO,
  readTopupSettings,
  sweepAutoTopups,
} from '../harness/autoTopups.ts';
import { runJob } from '../harness/jobs.ts';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { getAccountId } from '../harness/outbox.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { seedImages } from '../harness/seeds.ts';
import { eventually } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';
import { findTopups } from '../harness/topupInvoices.ts';

const topupEntries = async (customer: TestCustomer) => (await customer.ledger()).filter(([type]) => type === 'topup');
const createWith = (customer: TestCustomer, key: string) =>
  customer.request('POST', '/api/generations/create/', {
    body: { ...LONG_VIDEO, prompt: 'once' },
    headers: { 'idempotency-key': key },
  });

describe('automatic top-ups through the payment processor', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const automatic = (customer: TestCustomer) => findTopups(billing, customer);
  const hourLater = (customer: TestCustomer) => ageAutoTopups(billing.service, customer);
  const sweep = () => sweepAutoTopups(billing.service);
  const settlePending = async () => {
    await makeTasksDue(billing.service, 'topup.charge', 'topup.page');
    await billing.maintain();
  };

  /** Creates a customer with automatic top-ups and 60 credits, which is less than a long video costs. */
  const poor = async (settings = {}) => {
    const customer = await billing.createCustomer('lite');
    await seedImages(billing.service, customer, 140);
    await enableAutoTopups(customer, settings);
    return customer;
  };
  /** Creates a customer with one burn and the automatic top-up that it triggered. */
  const toppedUp = async () => {
    const customer = await billing.createCustomer('lite');
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 200 });
    await customer.createGeneration(IMAGE);
    await eventually('topped up', async () => (await customer.balance()) === 192 + 1666);
    const [topup] = await automatic(customer);
    await hourLater(customer);
    return { customer, intentId: topup.stripe_payment_intent_id as string };
  };

  /**
   * Switches automatic top-ups off once a request has reached Stripe. @returns how many requests it had received by
   * then.
   */
  const switchOffDuring = async (customer: TestCustomer, name: string): Promise<number> => {
    const { requests } = billing.stripe;
    const from = requests.length;
    await eventually(`${name} is sent`, () => requests.slice(from).some((request) => request.name === name), 20_000);
    await changeTopupSettings(customer, { auto_topup_enabled: false });
    return requests.length;
  };
  const expectNotCharged = async (customer: TestCustomer, switchedOffAt: number): Promise<void> => {
    const later = billing.stripe.requests.slice(switchedOffAt).map(({ name }) => name);
    expect(later).to.not.include('intents.create');
    const topups = await automatic(customer);
    expect(topups.map(({ status, failure_code: code }) => [status, code])).to.deep.equal([['failed', 'canceled']]);
    const { service } = billing;
    const id = await getAccountId(service, customer);
    const [account] = await service.sql('SELECT auto_topup_declines FROM accounts WHERE id = $1', [id]);
    expect(account).to.deep.equal({ auto_topup_declines: 0 });
  };

  describe('on a create that the balance cannot cover', () => {
    const faults = {
      'while Stripe is unavailable': { all: 'drop' },
      'while Stripe answers 500': { 'intents.create': 'error' },
      'when the answer to the charge is lost': { 'intents.create': 'drop after doing' },
    } as const;
    for (const [when, fault] of Object.entries(faults)) {
      it(`return 503 ${when}, and return the outcome later for the same Idempotency-Key`, async () => {
        const customer = await poor();
        const key = randomUUID();
        Object.assign(billing.stripe.faults, fault);
        billing.stripe.delivery.pause = true;
        // A repeated create waits for 12 s before it responds.
        for (const attempt of 'all' in fault ? ['first', 'second'] : ['first']) {
          const { status, body, headers } = await createWith(customer, key);
          expect([status, body.error], attempt).to.deep.equal([503, 'internal_error']);
          expect(body.detail).to.include('unknown').and.include('Idempotency-Key').and.include('/api/ledger/');
          expect(headers.get('retry-after')).to.equal('60');
        }
        billing.stripe.reset();
        await settlePending();
        await eventually('settled', async () => (await automatic(customer))[0].status === 'succeeded');
        const { status, body } = await createWith(customer, key);
        expect([status, body.status]).to.deep.equal([201, 'queued']);
        expect(await topupEntries(customer)).to.deep.equal([['topup', 1666]]);
        expect(await customer.balance()).to.equal(60 + 1666 - 70);
      });
    }

    it('are not charged if they are switched off while their card is read', async () => {
      const customer = await poor();
      billing.stripe.latencyMs = 2_000;
      const creating = createWith(customer, randomUUID());
      const switchedOffAt = await switchOffDuring(customer, 'customers.retrieve');
      expect((await creating).status).to.equal(402);
      await expectNotCharged(customer, switchedOffAt);
    });

    it('are not charged by a retry if they are switched off while it looks for their payment', async () => {
      const customer = await poor();
      billing.stripe.faults['intents.create'] = 'drop';
      expect((await createWith(customer, randomUUID())).status).to.equal(503);
      billing.stripe.reset();
      billing.stripe.latencyMs = 2_000;
      const retrying = settlePending();
      const switchedOffAt = await switchOffDuring(customer, 'intents.list');
      await retrying;
      await expectNotCharged(customer, switchedOffAt);
    });

    it('do not delay the shutdown of a web process whose create waits for the top-up of another create', async () => {
      const customer = await poor();
      billing.stripe.faults['intents.create'] = 'drop';
      expect((await createWith(customer, randomUUID())).status).to.equal(503);
      const { service } = billing;
      const api = await service.startApi();
      const accountId = await getAccountId(service, customer);
      const response = await whileAccountIsLocked(service, accountId, async () => {
        const sent = createWith(customer.on(api.baseUrl), randomUUID());
        await waitForLockWaits(service);
        return { sent };
      });
      const startedAt = performance.now();
      expect(await api.stop()).to.equal(0);
      expect(performance.now() - startedAt).to.be.below(scaleTimeout(5_000));
      const { status, body } = await response.sent;
      expect(status).to.equal(503);
      expect(body.detail).to.include('the outcome of the automatic top-up is unknown');
      service.apis.splice(service.apis.indexOf(api), 1);
    });

    it('return 402 after a decline, are retried an hour later, and switched off after three declines', async () => {
      const customer = await poor();
      const countCharges = () => billing.stripe.requests.filter(({ name }) => name === 'intents.create').length;
      const charges = countCharges();
      billing.stripe.setCard(billing.customerId(customer), 'declined');
      for (const attempt of [1, 2, 3]) {
        const refused = await customer.createGeneration(LONG_VIDEO);
        expect([refused.status, refused.body.error], `attempt ${attempt}`).to.deep.equal([402, 'insufficient_credits']);
        // Not again within the hour.
        expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(402);
        expect(await readTopupSettings(customer)).to.include({ auto_topup_enabled: attempt < 3 });
        await hourLater(customer);
      }
      expect(await readTopupSettings(customer)).to.include({ auto_topup_problem: 'declined' });
      expect(countCharges() - charges).to.equal(3);
      billing.stripe.setCard(billing.customerId(customer), 'ok');
      await enableAutoTopups(customer);
      expect(await readTopupSettings(customer)).to.not.have.property('auto_topup_problem');
      expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(201);
    });

    it('return 402 and are switched off if the bank requires authentication', async () => {
      const customer = await poor();
      billing.stripe.setCard(billing.customerId(customer), 'authentication_required');
      expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(402);
      expect(await readTopupSettings(customer)).to.include({
        auto_topup_enabled: false,
        auto_topup_problem: 'authentication_required',
      });
      expect(await customer.balance()).to.equal(60);
    });

    it('are charged once after an outage, however many hours it lasted', async () => {
      const customer = await poor({ auto_topup_threshold_credits: 100 });
      billing.stripe.faults['intents.create'] = 'error';
      for (let hour = 0; hour < 3; hour += 1) {
        expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(503);
        await hourLater(customer);
        await sweep();
      }
      delete billing.stripe.faults['intents.create'];
      // The first one is abandoned by then. Without a burn in the meantime, only the next create triggers another.
      await settlePending();
      await sweep();
      expect(await customer.balance()).to.equal(60);
      expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(201);
      expect(await customer.balance()).to.equal(60 + 1666 - 70);
      expect(await topupEntries(customer)).to.have.length(1);
    });

    it('return 402 when the card is declined, and nothing is charged afterwards', async () => {
      const customer = await poor();
      billing.stripe.setCard(billing.customerId(customer), 'declined');
      const { status, body } = await createWith(customer, randomUUID());
      expect([status, body.error]).to.deep.equal([402, 'insufficient_credits']);
      billing.stripe.setCard(billing.customerId(customer), 'ok');
      await settlePending();
      await sweep();
      await hourLater(customer);
      await sweep();
      expect((await automatic(customer)).map((row) => row.status)).to.deep.equal(['failed']);
      expect(await customer.balance()).to.equal(60);
    });
  });

  it('need a payment method, which is read from the processor', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.removePaymentMethod(billing.customerId(customer));
    const { status, body } = await customer.request('PATCH', '/api/billing/topup/settings/', {
      body: { auto_topup_enabled: true, auto_topup_amount_cents: 7_000 },
    });
    expect([status, body.error]).to.deep.equal([402, 'subscription_required']);
    expect(await readTopupSettings(customer)).to.include({ auto_topup_enabled: false, auto_topup_amount_cents: 5_000 });
    expect((await customer.request('GET', '/api/billing/status/')).body.has_payment_method).to.equal(false);
  });

  it('stay failed when their payment is processed again while another one is pending', async () => {
    const customer = await billing.createCustomer('lite');
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 200 });
    billing.stripe.setCard(billing.customerId(customer), 'declined');
    await customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
    await eventually('declined', async () => (await automatic(customer))[0]?.status === 'failed');
    await hourLater(customer);
    billing.stripe.faults['intents.create'] = 'error';
    await customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
    await eventually('pending', async () => (await automatic(customer))[1]?.status === 'pending');
    const intent = billing.stripe.store.get('payment_intent', (await automatic(customer))[0].stripe_payment_intent_id);
    const { status } = intent;
    intent.status = 'processing';
    billing.stripe.store.emit('payment_intent.payment_failed', intent);
    await billing.drained();
    expect((await automatic(customer)).map((row) => row.status)).to.deep.equal(['failed', 'pending']);
    intent.status = status;
  });

  for (const [what, id] of [
    ['removed', null],
    ['unknown to Stripe', 'cus_unknown'],
  ] as const) {
    it(`do not stay pending forever if the customer is ${what}`, async () => {
      const customer = await billing.createCustomer('lite');
      await enableAutoTopups(customer, { auto_topup_threshold_credits: 200 });
      billing.stripe.faults['intents.create'] = 'error';
      await customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
      await eventually('pending', async () => (await automatic(customer))[0]?.status === 'pending');
      const known = billing.customerId(customer);
      const setCustomer = (value: string | null) =>
        billing.service.sql('UPDATE accounts SET stripe_customer_id = $2 WHERE email = $1', [customer.email, value]);
      await setCustomer(id);
      await settlePending();
      expect((await automatic(customer))[0].status).to.equal('pending');
      await hourLater(customer);
      await settlePending();
      expect((await automatic(customer))[0]).to.include({ status: 'failed', failure_code: 'canceled' });
      await setCustomer(known);
    });
  }

  describe('below the threshold', () => {
    it('do not follow the refund of an automatic top-up', async () => {
      const { customer, intentId } = await toppedUp();
      billing.stripe.refund(intentId);
      await billing.drained();
      expect(await customer.balance()).to.equal(192);
      await sweep();
      expect(await automatic(customer)).to.have.length(1);
      expect(await readTopupSettings(customer)).to.include({ auto_topup_enabled: true });
    });

    it('have no problem after a dispute if the customer had switched them off', async () => {
      const { customer, intentId } = await toppedUp();
      const body = { auto_topup_enabled: false };
      await customer.request('PATCH', '/api/billing/topup/settings/', { body });
      billing.stripe.openDispute(intentId);
      await billing.drained();
      expect(await readTopupSettings(customer)).to.not.have.property('auto_topup_problem');
    });

    it('stay off with their problem after a late success of another one', async () => {
      const { customer, intentId } = await toppedUp();
      billing.stripe.faults['intents.create'] = 'drop after doing';
      billing.stripe.delivery.drop = 1;
      await enableAutoTopups(customer, { auto_topup_threshold_credits: 1_860 });
      await customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
      await eventually('charged', async () => (await automatic(customer))[1]?.status === 'pending');
      await billing.stripe.drained();
      billing.stripe.delivery.drop = 0;
      billing.stripe.delivery.dropped.length = 0;
      billing.stripe.openDispute(intentId);
      await billing.stripe.drained();
      const problem = { auto_topup_enabled: false, auto_topup_problem: 'disputed' };
      await eventually('disputed', async () => (await readTopupSettings(customer))['auto_topup_enabled'] === false);
      expect(await readTopupSettings(customer)).to.include(problem);
      delete billing.stripe.faults['intents.create'];
      await settlePending();
      await billing.drained();
      expect((await automatic(customer)).map(({ status }) => status)).to.deep.equal(['succeeded', 'succeeded']);
      expect(await readTopupSettings(customer)).to.include(problem);
    });

    it('are switched off by the dispute of an automatic top-up, once for each dispute', async () => {
      const { customer, intentId } = await toppedUp();
      const dispute = billing.stripe.openDispute(intentId);
      await billing.drained();
      expect(await customer.balance()).to.equal(192);
      expect(await readTopupSettings(customer)).to.include({
        auto_topup_enabled: false,
        auto_topup_problem: 'disputed',
      });
      await sweep();
      await customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
      await sweep();
      expect(await automatic(customer)).to.have.length(1);
      // The customer has seen the problem and switched them on: another sync of the same dispute changes nothing.
      await enableAutoTopups(customer);
      await runJob(billing, 'billing', 'payments.reconcile');
      expect(await readTopupSettings(customer)).to.include({ auto_topup_enabled: true });
      billing.stripe.closeDispute(dispute.id, 'won');
      await billing.drained();
      expect(await readTopupSettings(customer)).to.include({ auto_topup_enabled: true });
    });
  });
});
