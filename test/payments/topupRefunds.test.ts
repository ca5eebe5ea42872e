import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useBillingService } from '../harness/billingService.ts';
import { findAccountUuid, StaffConsole } from '../harness/staffConsole.ts';
import { useTestService } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';
import { makeTasksDue, runDueTasks } from '../harness/tasks.ts';

describe('a top-up that staff refund', () => {
  const console = new StaffConsole();
  const billing = useBillingService({ env: { STAFF_EMAILS: console.staffEmails } });
  let customer: TestCustomer;
  before(() => console.open(billing.service));
  beforeEach(async () => {
    customer = await billing.createCustomer('pro');
    await billing.topUp(customer, 5_000);
  });
  afterEach(() => billing.stripe.reset());

  const readTopup = async () =>
    (
      await billing.service.sql(
        `SELECT t.*, r.status AS refund, coalesce(r.last_error, task.last_error) AS last_error
           FROM topups t JOIN accounts a ON a.id = t.account_id LEFT JOIN owed_refunds r ON r.topup_uuid = t.uuid
           LEFT JOIN tasks task ON task.kind = 'refund.issue' AND task.key = r.key WHERE a.email = $1`,
        [customer.email],
      )
    )[0];
  const listRefundedCents = () =>
    billing.stripe.store
      .list('charge')
      .filter(({ customer: id, amount }) => getId(id) === billing.customerId(customer) && amount === 5_000)
      .map(({ amount_refunded: refunded }) => refunded);
  const request = async () => {
    const { uuid } = await readTopup();
    const { status } = await console.act(`/admin/topups/${uuid}/refund/`, {}, 'finance');
    expect(status).to.equal(303);
  };
  /** Makes the refund due, and runs the sweep. */
  const sweep = async () => {
    await makeTasksDue(billing.service, 'refund.issue');
    await billing.maintain();
    await billing.drained();
  };

  const closeDispute = async (outcome: 'won' | 'lost') => {
    billing.stripe.closeDispute((await readTopup()).stripe_payment_intent_id, outcome);
    await billing.drained();
    await sweep();
  };

  it('is paid back by the sweep, and its credits are taken back once', async () => {
    expect(await customer.balance()).to.equal(1_100 + 1_896);
    await request();
    await sweep();
    expect(listRefundedCents()).to.deep.equal([5_000]);
    expect(await readTopup()).to.include({ refund: 'refunded', reversed_cents: 5_000, credits_reversed: 1_896 });
    expect(await customer.balance()).to.equal(1_100);
    await sweep();
    expect((await customer.ledger()).filter(([type]) => type === 'expiry')).to.deep.equal([['expiry', -1_896]]);
  });

  it('is retried while the processor fails, with the same idempotency key', async () => {
    billing.stripe.faults['refunds.create'] = 'error';
    await request();
    await sweep();
    expect(await readTopup()).to.include({ refund: 'owed', reversed_cents: 0 });
    expect((await readTopup()).last_error).to.be.a('string');
    billing.stripe.reset();
    await sweep();
    expect(await readTopup()).to.include({ refund: 'refunded', reversed_cents: 5_000 });
    expect(listRefundedCents()).to.deep.equal([5_000]);
    const { stripe_payment_intent_id: intent } = await readTopup();
    const keys = billing.stripe.requests.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(`refund-${intent}`));
    expect(keys.length).to.be.above(1);
  });

  it('counts as refunded if the money was paid back at the processor before', async () => {
    const { stripe_payment_intent_id: intent } = await readTopup();
    await request();
    billing.stripe.refund(intent);
    await billing.drained();
    await sweep();
    expect(await readTopup()).to.include({ refund: 'refunded', reversed_cents: 5_000, credits_reversed: 1_896 });
    expect(listRefundedCents()).to.deep.equal([5_000]);
    expect(await customer.balance()).to.equal(1_100);
  });

  it('is paid back during an inquiry of the bank, which has withdrawn nothing', async () => {
    const { stripe_payment_intent_id: intent } = await readTopup();
    billing.stripe.openDispute(intent, { isInquiry: true });
    await billing.drained();
    expect(await readTopup()).to.include({ is_disputed: true, reversed_cents: 0 });
    await request();
    await sweep();
    expect(await readTopup()).to.include({ refund: 'refunded', last_error: null, reversed_cents: 5_000 });
    expect(listRefundedCents()).to.deep.equal([5_000]);
  });

  describe('and that is disputed meanwhile', () => {
    beforeEach(async () => {
      const { stripe_payment_intent_id: intent } = await readTopup();
      await request();
      billing.stripe.openDispute(intent);
      await billing.drained();
      await sweep();
      const { refund, last_error: error } = await readTopup();
      expect([refund, error.includes('A dispute is open')]).to.deep.equal(['owed', true]);
    });

    it('counts as refunded once the dispute is lost, as that has returned the payment', async () => {
      await closeDispute('lost');
      expect(await readTopup()).to.include({
        refund: 'refunded',
        last_error: null,
        reversed_cents: 5_000,
      });
      expect(listRefundedCents()).to.deep.equal([0]);
      const page = await console.visit(
        `/admin/accounts/${await findAccountUuid(billing.service, customer)}/`,
        'finance',
      );
      expect(page.text).to.not.include('refund of top-up');
    });

    it('is left to staff once the dispute is won, as the processor refuses the refund', async () => {
      await closeDispute('won');
      const { refund, last_error: error } = await readTopup();
      expect([refund, error]).to.deep.equal([
        'rejected',
        'The processor does not refund a charge that was disputed. The customer has its credits: remove them if you pay it back by hand.',
      ]);
      expect(listRefundedCents()).to.deep.equal([0]);
      const { text } = await console.act(`/admin/topups/${(await readTopup()).uuid}/refund/`, {}, 'finance');
      expect(text).to.include('was rejected. The processor does not refund a charge that was disputed.');
    });
  });
});

describe('a simulated top-up that staff refund', () => {
  const console = new StaffConsole();
  const service = useTestService({ env: { STAFF_EMAILS: console.staffEmails } });
  before(() => console.open(service));

  it('is reversed by the sweep, as far as the balance has its credits', async () => {
    const customer = await service.createCustomer('pro');
    await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    expect((await console.act(`${account}adjust/`, { credits: '-96' })).status).to.equal(303);
    const [{ uuid }] = await service.sql('SELECT uuid FROM topups');
    expect((await console.act(`/admin/topups/${uuid}/refund/`)).status).to.equal(303);
    await runDueTasks(service);
    const [row] = await service.sql('SELECT r.status, t.* FROM owed_refunds r JOIN topups t ON t.uuid = r.topup_uuid');
    expect(row).to.include({ status: 'succeeded', reversed_cents: 5_000, credits_reversed: 1_800 });
    expect(await customer.balance()).to.equal(1_100);
    expect((await console.visit(account)).text).to.not.include('refund of top-up');
  });
});
