import { expect } from 'chai';
import { endSubscriptionRow } from '../../shared/domain/billing/stopRenewals.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { HOUR_MS } from '../../shared/spec/durations.ts';
import { StaffConsole } from '../harness/staffConsole.ts';
import { getId } from '../fakes/stripe/store.ts';

describe('the plan history of a subscription', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService();
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  const priceNow = (customer: TestCustomer) => billing.subscription(customer).items.data[0]?.price.id;

  const changePlan = async (customer: TestCustomer, plan: string): Promise<string> => {
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(billing.onFirstApi(customer), plan));
    return billing.lastInvoice(customer);
  };

  const read = async (customer: TestCustomer) => {
    const { body } = await billing.onFirstApi(customer).request('GET', '/api/billing/status/');
    return [body.status, body.plan?.slug ?? null, await billing.onFirstApi(customer).balance()];
  };

  const readHistory = (customer: TestCustomer) =>
    billing.service.sql(
      `SELECT p.plan_slug AS plan, p.price_id AS price, p.stripe_invoice_id AS invoice, p.returned_at IS NOT NULL AS "isReturned"
         FROM subscription_plans p JOIN subscriptions s ON s.id = p.subscription_id JOIN accounts a ON a.id = s.account_id
        WHERE a.email = $1 ORDER BY p.applies_from, p.id`,
      [customer.email],
    );

  /** Two upgrades of one customer, and the invoices of the three plans. */
  const createUpgraded = async () => {
    const customer = await billing.createCustomer('lite');
    const lite = billing.lastInvoice(customer);
    const pro = await changePlan(customer, 'pro');
    await billing.drained();
    const studio = await changePlan(customer, 'studio');
    await billing.drained();
    return { customer, lite, pro, studio };
  };

  it('names each plan with its price and its invoice', async () => {
    const { customer, lite, pro, studio } = await createUpgraded();
    const { prices } = billing.stripe;
    expect(await readHistory(customer)).to.deep.equal([
      { plan: 'lite', price: prices.lite, invoice: lite, isReturned: false },
      { plan: 'pro', price: prices.pro, invoice: pro, isReturned: false },
      { plan: 'studio', price: prices.studio, invoice: studio, isReturned: false },
    ]);
  });

  for (const [first, second] of [
    ['studio', 'pro'],
    ['pro', 'studio'],
  ] as const) {
    it(`falls back to the plan that is still paid when ${first} is refunded before ${second}`, async () => {
      const { customer, ...invoices } = await createUpgraded();
      billing.stripe.refund(invoices[first]);
      await billing.drained();
      expect((await read(customer))[1]).to.equal(first === 'studio' ? 'pro' : 'studio');
      billing.stripe.refund(invoices[second]);
      await billing.drained();
      expect(await read(customer)).to.deep.equal(['active', 'lite', 200]);
      expect(priceNow(customer)).to.equal(billing.stripe.prices.lite);
      expect((await readHistory(customer)).map(({ isReturned }) => isReturned)).to.deep.equal([false, true, true]);
    });
  }

  it('falls back when both upgrades are refunded before one sync', async () => {
    const { customer, pro, studio } = await createUpgraded();
    billing.stripe.delivery.pause = true;
    billing.stripe.refund(studio);
    billing.stripe.refund(pro);
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect(await read(customer)).to.deep.equal(['active', 'lite', 200]);
  });

  it('takes back the credits of a returned upgrade, as far as they are left', async () => {
    const customer = await billing.createCustomer('lite');
    const studio = await changePlan(customer, 'studio');
    await billing.drained();
    expect((await read(customer))[2]).to.equal(3_000);
    await customer.createImage();
    billing.stripe.refund(studio);
    await billing.drained();
    expect((await read(customer)).slice(0, 2)).to.deep.equal(['active', 'lite']);
    expect((await customer.ledger()).at(-1)).to.deep.equal(['expiry', -2_800]);
  });

  it('keeps the year when the lost dispute was about a part of it, and returns to the plan that is still paid', async () => {
    const { customer, lite, studio } = await createUpgraded();
    billing.stripe.openDispute(lite);
    await billing.drained();
    expect((await read(customer))[0]).to.equal('unpaid');
    billing.stripe.closeDispute(lite, 'lost');
    await billing.drained();
    expect((await read(customer)).slice(0, 2)).to.deep.equal(['active', 'studio']);
    billing.stripe.openDispute(studio);
    billing.stripe.closeDispute(studio, 'lost');
    await billing.drained();
    expect((await read(customer)).slice(0, 2)).to.deep.equal(['active', 'pro']);
  });

  it('stays active while an upgrade is unpaid at Stripe, as the year is paid', async () => {
    const customer = await billing.createCustomer('lite');
    billing.subscription(customer).status = 'unpaid';
    billing.stripe.store.emit('customer.subscription.updated', billing.subscription(customer));
    await billing.drained();
    expect(await read(customer)).to.deep.equal(['active', 'lite', 200]);
    billing.subscription(customer).status = 'active';
  });

  it('counts what was returned of each invoice, whatever the state of the subscription', async () => {
    const customer = await billing.createCustomer('pro');
    const invoice = billing.lastInvoice(customer);
    const refunded = async () =>
      (
        await billing.service.sql('SELECT refunded_cents::int AS cents FROM invoices WHERE stripe_invoice_id = $1', [
          invoice,
        ])
      )[0].cents;
    billing.stripe.refund(invoice, 100);
    await billing.drained();
    expect(await refunded()).to.equal(100);
    billing.stripe.cancelNow(billing.customerId(customer));
    await billing.drained();
    billing.stripe.refund(invoice, 1_000);
    await billing.drained();
    expect(await refunded()).to.equal(1_100);
    billing.stripe.refund(invoice);
    await billing.drained();
    expect(await refunded()).to.equal(34_800);
  });

  it('shows disputed money as returned while a dispute is open and after it was lost, and not after it was won', async () => {
    for (const outcome of ['won', 'lost'] as const) {
      const customer = await billing.createCustomer('pro');
      const invoice = billing.lastInvoice(customer);
      const list = async () => (await customer.request('GET', '/api/billing/invoices/')).body.data[0].refunded_cents;
      billing.stripe.openDispute(invoice);
      await billing.drained();
      expect(await list()).to.equal(34_800);
      billing.stripe.closeDispute(invoice, outcome);
      await billing.drained();
      expect(await list(), outcome).to.equal(outcome === 'won' ? 0 : 34_800);
    }
  });

  it('continues with its months after it had ended here, since Stripe did not have it', async () => {
    const customer = await billing.createCustomer('lite');
    const [{ id }] = await billing.service.sql(
      'SELECT s.id FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1',
      [customer.email],
    );
    const [{ account_id: accountId }] = await billing.service.sql(
      'SELECT account_id FROM subscriptions WHERE id = $1',
      [id],
    );
    await endSubscriptionRow(Number(accountId), Number(id));
    expect(await read(customer)).to.deep.equal(['canceled', null, 0]);
    for (let round = 0; round < 2; round += 1) {
      billing.stripe.store.emit('customer.subscription.updated', billing.subscription(customer));
      await billing.drained();
      expect(await read(customer)).to.deep.equal(['active', 'lite', 200]);
    }
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await read(customer)).to.deep.equal(['active', 'lite', 200]);
  });
});

describe('months around a change of plan', () => {
  const console = new StaffConsole();
  let billing: BillingService;
  before(async () => {
    const env = { STAFF_EMAILS: console.staffEmails };
    billing = await startBillingService({ startAt: new Date('2027-01-31T10:00:00Z'), env });
  });
  after(() => billing.stop());

  it('have the same credits when the event of an upgrade arrives after the end of its month', async () => {
    const [prompt, late] = [await billing.createCustomer('lite'), await billing.createCustomer('lite')];
    await billing.advanceTo(new Date('2027-02-28T09:00:00Z'));
    for (const customer of [prompt, late]) {
      billing.stripe.delivery.pause = customer === late;
      billing.stripe.confirmPlanSwitch(await billing.openCheckout(billing.onFirstApi(customer), 'studio'));
      if (customer === prompt) await billing.drained();
    }
    await billing.service.moveClockTo(new Date('2027-02-28T12:00:00Z'), () =>
      billing.stripe.advanceTo(new Date('2027-02-28T12:00:00Z')),
    );
    await runJob(billing, 'maintenance', 'creditPeriods.renew');
    expect(await billing.onFirstApi(prompt).balance()).to.equal(6_000);
    expect(await billing.onFirstApi(late).balance()).to.equal(400);
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect(await billing.onFirstApi(late).balance()).to.equal(6_000);
    const grants = (await billing.onFirstApi(late).ledger()).filter(([type]) => type === 'grant').slice(-2);
    expect(grants).to.deep.equal([
      ['grant', 2_800],
      ['grant', 2_800],
    ]);
  });

  it('are a timeline on the staff page of the account, in which a plan applies again after a refund', async () => {
    const customer = await billing.createCustomer('lite');
    for (const [day, plan] of [
      ['01', 'pro'],
      ['02', 'studio'],
    ] as const) {
      await billing.advanceTo(new Date(`2027-03-${day}T12:00:00Z`));
      billing.stripe.confirmPlanSwitch(await billing.openCheckout(billing.onFirstApi(customer), plan));
      await billing.drained();
    }
    await billing.advanceTo(new Date('2027-03-03T12:00:00Z'));
    billing.stripe.refund(billing.lastInvoice(customer));
    await billing.drained();
    const [{ uuid }] = await billing.service.sql('SELECT uuid FROM accounts WHERE email = $1', [customer.email]);
    await console.open(billing.service);
    const { text } = await console.visit(`/admin/accounts/${uuid}/`);
    const section = text.slice(text.indexOf('id="plan-history"'));
    const plans = [...section.slice(0, section.indexOf('</table>')).matchAll(/<td>(lite|pro|studio)<\/td>/g)];
    expect(plans.map(([, plan]) => plan)).to.deep.equal(['lite', 'pro', 'studio', 'pro']);
  });

  it('are those of a plan that staff set without an invoice, although that plan was refunded in an earlier year', async () => {
    const customer = await billing.createCustomer('pro');
    const findTheirs = () => billing.subscription(customer);
    const theirPlan = () => findTheirs().items.data[0];
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    await billing.drained();
    billing.stripe.refund(getId(findTheirs().latest_invoice));
    await billing.drained();
    expect(theirPlan()?.price.id).to.equal(billing.stripe.prices.pro);
    await billing.advanceTo(new Date(1_000 * (theirPlan()?.current_period_end as number) + 2 * HOUR_MS));
    Object.assign(theirPlan() as object, { price: billing.stripe.store.get('price', billing.stripe.prices.studio) });
    billing.stripe.store.emit('customer.subscription.updated', findTheirs());
    await billing.drained();
    expect(theirPlan()?.price.id).to.equal(billing.stripe.prices.studio);
    const status = await billing.onFirstApi(customer).request('GET', '/api/billing/status/');
    expect([status.body.status, status.body.plan.slug]).to.deep.equal(['active', 'studio']);
    const rows = await billing.service.sql(
      `SELECT p.plan_slug AS plan FROM subscription_plans p JOIN subscriptions s ON s.id = p.subscription_id
         JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 AND p.stripe_invoice_id IS NULL`,
      [customer.email],
    );
    expect(rows).to.deep.equal([{ plan: 'studio' }]);
  });
});
