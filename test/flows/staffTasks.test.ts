import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import { StaffConsole } from '../harness/staffConsole.ts';
import { eventually } from '../harness/testService.ts';

describe('a task that staff run', () => {
  const console = new StaffConsole();
  const billing = useBillingService({ env: { STAFF_EMAILS: console.staffEmails } });
  before(() => console.open(billing.service));
  afterEach(() => billing.stripe.reset());

  const findEventTask = async () =>
    (await billing.service.sql(`SELECT * FROM tasks WHERE kind = 'payment.event' ORDER BY id LIMIT 1`))[0];

  /** Pays on the checkout page while the processor is unavailable, until all events are given up. */
  async function subscribeInVain() {
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    billing.stripe.faults.all = 'error';
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.eventsAttempted();
    await eventually('all events are given up', async () => {
      await billing.service.sql('UPDATE tasks SET run_at = NULL WHERE attempts > 0 AND lease IS NULL');
      return (await billing.service.sql('SELECT 1 FROM tasks WHERE run_at IS NOT NULL')).length === 0;
    });
    expect(await customer.balance()).to.equal(0);
    return customer;
  }

  it('applies a payment event that was given up, once its cause is repaired', async () => {
    const customer = await subscribeInVain();
    delete billing.stripe.faults.all;
    const done = await console.act('/admin/tasks/kinds/payment.event/run/', {}, 'ops');
    expect(done.headers.get('location')).to.equal('/admin/tasks/?done=run-all');
    await eventually('the month is granted', async () => (await customer.balance()) === 1100);
    await billing.drained();
    expect(await findEventTask()).to.equal(undefined);
  });

  it('keeps its error if it fails again, and is still listed', async () => {
    await subscribeInVain();
    const { id, attempts } = await findEventTask();
    await console.act(`/admin/tasks/${id}/run/`);
    await eventually('it has failed once more', async () => (await findEventTask()).attempts === attempts + 1);
    const { text } = await console.visit('/admin/tasks/?kind=payment.event');
    expect(text).to.include(`href="/admin/tasks/${id}/run/"`);
    delete billing.stripe.faults.all;
    await console.act('/admin/tasks/kinds/payment.event/run/');
    await billing.drained();
  });
});
