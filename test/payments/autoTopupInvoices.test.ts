import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { enableAutoTopups, readTopupSettings } from '../harness/autoTopups.ts';
import { useBillingService } from '../harness/billingService.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { eventually } from '../harness/testService.ts';
import { completeInvoices, findTopups, listInvoices } from '../harness/topupInvoices.ts';
import { makeTasksDue, readTasks } from '../harness/tasks.ts';

describe('invoices and tax of automatic top-ups', () => {
  const billing = useBillingService({ env: { STRIPE_TAX: 'on' } });
  beforeEach(() => {
    billing.stripe.store.taxPercent = 19;
  });
  afterEach(() => billing.stripe.reset());

  /** Lets an automatic top-up of 50 dollars follow the next burn. */
  async function triggerAutoTopup(customer: TestCustomer): Promise<void> {
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 5_000 });
    await customer.createImage();
    await eventually('the top-up has an outcome', async () =>
      (await findTopups(billing, customer)).some(({ kind, status }) => kind === 'automatic' && status !== 'pending'),
    );
    await billing.drained();
  }

  it('have the tax of their charge, which is made once, and get one invoice', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    await triggerAutoTopup(customer);
    expect(await customer.balance()).to.equal(1_100 - 8 + 1_896);
    expect((await findTopups(billing, customer))[0]).to.include({
      status: 'succeeded',
      net_cents: 5_000,
      tax_cents: 950,
    });
    await completeInvoices(billing);
    const [invoice] = await listInvoices(customer);
    expect(invoice).to.include({ description: 'Automatic top-up: 1896 credits', total_cents: 5_950, tax_cents: 950 });
    expect(billing.stripe.store.get('invoice', invoice.invoice_id)).to.include({ status: 'paid', total: 5_950 });
  });

  it('are charged once and get one invoice if the response to every request is lost once', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const names = [
      'invoices.create',
      'invoiceItems.create',
      'intents.create',
      'invoices.finalize',
      'invoices.attachPayment',
    ] as const;
    for (const name of names) billing.stripe.faults[name] = { how: 'drop after doing', times: 2 };
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 5_000 });
    await customer.createImage();
    await eventually(
      'credited and invoiced',
      async () => {
        await makeTasksDue(billing.service, 'topup.charge', 'topup.page');
        await completeInvoices(billing);
        const [invoice] = await listInvoices(customer);
        return invoice.kind === 'topup' && invoice.invoice_id !== null;
      },
      45_000,
    );
    expect(await customer.balance()).to.equal(1_100 - 8 + 1_896);
    const [{ uuid }] = await findTopups(billing, customer);
    const { succeeded, invoices } = billing.stripe.summarize().topups.get(uuid) ?? {};
    expect([succeeded, invoices?.length]).to.deep.equal([1, 1]);
  });

  it('are credited while invoices cannot be issued, which follow later', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    billing.stripe.faults['invoices.finalize'] = 'error';
    await triggerAutoTopup(customer);
    expect(await customer.balance()).to.equal(1_100 - 8 + 1_896);
    await completeInvoices(billing);
    expect((await listInvoices(customer))[0]).to.include({ invoice_id: null, status: 'paid' });
    const [row] = await readTasks(billing.service, 'invoice.issue');
    expect(row.attempts).to.be.at.least(1);
    expect(row.last_error).to.be.a('string');
    delete billing.stripe.faults['invoices.finalize'];
    billing.stripe.deleteSavedErrors();
    await completeInvoices(billing);
    expect((await listInvoices(customer))[0].number).to.match(/^FAKE-/);
  });

  it('are switched off without a billing address, and nothing is charged', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    billing.stripe.store.get('customer', billing.customerId(customer)).address = null;
    await triggerAutoTopup(customer);
    expect(await customer.balance()).to.equal(1_100 - 8);
    expect((await findTopups(billing, customer))[0]).to.include({ status: 'failed', failure_code: 'address_required' });
    expect(await readTopupSettings(customer)).to.include({
      auto_topup_enabled: false,
      auto_topup_problem: 'address_required',
    });
  });

  it('keep their credits if the invoice cannot be issued because of a balance, which stays', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const atStripe = billing.stripe.store.get('customer', billing.customerId(customer));
    atStripe.balance = -700;
    await triggerAutoTopup(customer);
    await billing.service.sql(
      `UPDATE tasks SET created_at = created_at - interval '4 days' WHERE kind = 'invoice.issue'`,
    );
    await completeInvoices(billing);
    expect(atStripe.balance).to.equal(-700);
    expect(await customer.balance()).to.equal(1_100 - 8 + 1_896);
    const [task, ...others] = await readTasks(billing.service, 'invoice.issue');
    expect(others).to.deep.equal([]);
    expect(task.run_at).to.equal(null);
    expect(task.last_error).to.include('cents');
    const { text } = await createBrowserFor(customer).request(`${billing.service.baseUrl}/account/billing/`);
    expect(text).to.include('Could not be issued; we have been notified').and.to.not.include('Being issued');
    await billing.service.sql(`DELETE FROM tasks WHERE kind = 'invoice.issue'`);
    await billing.service.sql('UPDATE invoices SET awaits_document = false');
  });

  it('do not adopt an invoice that the customer has paid a second time', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    billing.stripe.faults['invoices.attachPayment'] = 'error';
    await triggerAutoTopup(customer);
    await completeInvoices(billing);
    const [{ uuid }] = await findTopups(billing, customer);
    const issued = billing.stripe.findTopupInvoice(uuid);
    expect(issued?.status).to.equal('open');
    billing.stripe.payOpenInvoice(issued?.id as string);
    await billing.drained();
    delete billing.stripe.faults['invoices.attachPayment'];
    billing.stripe.deleteSavedErrors();
    await completeInvoices(billing);
    expect(await customer.balance()).to.equal(1_100 - 8 + 1_896);
    expect((await listInvoices(customer))[0]).to.include({ kind: 'topup', status: 'paid', invoice_id: null });
  });
});
