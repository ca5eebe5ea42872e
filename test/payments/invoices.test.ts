import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { enableAutoTopups } from '../harness/autoTopups.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { eventually, type TestService, useTestService } from '../harness/testService.ts';
import { voidInvoice } from '../fakes/stripe/invoices.ts';
import { completeInvoices } from '../harness/topupInvoices.ts';

const PATH = '/api/billing/invoices/';
const list = async (customer: TestCustomer, page = 1) =>
  (await customer.request('GET', `${PATH}?page=${page}`)).body as { pagination: any; data: any[] };
const getAccountId = async (service: TestService, { email }: TestCustomer) =>
  (await service.sql('SELECT id FROM accounts WHERE email = $1', [email]))[0].id as number;

describe('the list of invoices', () => {
  describe('in local keyless development', () => {
    const service = useTestService({ workers: 0 });

    it('is empty before a purchase', async () => {
      const { pagination, data } = await list(await service.createCustomer(null));
      expect(data).to.deep.equal([]);
      expect(pagination).to.include({ current_page: 1, total_pages: 1, total_items: 0 });
    });

    it('has the simulated payments of plan and top-up, newest first, without a document', async () => {
      const customer = await service.createCustomer('pro');
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const { data } = await list(customer);
      expect(data.map(({ kind, description, total_cents }) => [kind, description, total_cents])).to.deep.equal([
        ['topup', 'Top-up: 1896 credits', 5_000],
        ['subscription', 'Pro plan, yearly', 34_800],
      ]);
      const [{ uuid, created_at: createdAt, paid_at: paidAt, ...rest }] = data;
      expect(rest).to.deep.equal({
        invoice_id: null,
        number: null,
        kind: 'topup',
        description: 'Top-up: 1896 credits',
        status: 'paid',
        currency: 'usd',
        total_cents: 5_000,
        tax_cents: 0,
        discount_cents: 0,
        net_cents: 5_000,
        refunded_cents: 0,
        hosted_invoice_url: null,
        pdf_url: null,
      });
      expect([uuid, createdAt, paidAt].every((value) => typeof value === 'string')).to.equal(true);
    });

    it('has pages of 20', async () => {
      const customer = await service.createCustomer('pro');
      for (let count = 0; count < 20; count += 1)
        await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const [first, second] = [await list(customer), await list(customer, 2)];
      expect([first.data.length, second.data.length]).to.deep.equal([20, 1]);
      expect(first.pagination).to.deep.equal({
        next: `${service.baseUrl}${PATH}?page=2`,
        previous: null,
        current_page: 1,
        total_pages: 2,
        total_items: 21,
      });
      expect(second.data[0].kind).to.equal('subscription');
    });
  });

  describe('with Stripe', () => {
    const billing = useBillingService({ workers: 1 });
    afterEach(() => billing.stripe.reset());

    const at = (path: string) => `${billing.service.baseUrl}${path}`;

    it('has the invoices of plan and top-up with number, page and file', async () => {
      const customer = await billing.createCustomer('pro');
      await billing.topUp(customer, 5_000);
      const { data } = await list(customer);
      expect(
        data.map(({ kind, status, total_cents, net_cents }) => [kind, status, total_cents, net_cents]),
      ).to.deep.equal([
        ['topup', 'paid', 5_000, 5_000],
        ['subscription', 'paid', 34_800, 34_800],
      ]);
      for (const invoice of data) {
        const issued = billing.stripe.store.get('invoice', invoice.invoice_id);
        expect(invoice).to.include({ number: issued.number, hosted_invoice_url: issued.hosted_invoice_url });
        expect(invoice.pdf_url).to.equal(issued.invoice_pdf);
      }
    });

    it('has the invoice of an automatic top-up, which is issued after its charge', async () => {
      const customer = await billing.createCustomer('pro');
      await enableAutoTopups(customer, { auto_topup_threshold_credits: 1_095 });
      await customer.createImage();
      await eventually('credited', async () => (await list(customer)).data.length === 2);
      await completeInvoices(billing);
      const [invoice] = (await list(customer)).data;
      expect(invoice).to.include({ description: 'Automatic top-up: 1896 credits', total_cents: 5_000, status: 'paid' });
      expect(invoice.number).to.equal(billing.stripe.store.get('invoice', invoice.invoice_id).number);
    });

    it('shows every open invoice of a plan, which can be paid in any order, and one that was voided', async () => {
      const customer = await billing.createCustomer('lite');
      const [first, second] = [
        billing.stripe.failUpgrade(billing.customerId(customer), undefined, 'starter'),
        billing.stripe.failUpgrade(billing.customerId(customer)),
      ];
      await billing.drained();
      const states = async () =>
        (await list(customer)).data.map(({ invoice_id: id, status, hosted_invoice_url: url }) => [
          id === first.id ? 'first' : id === second.id ? 'second' : 'year',
          status,
          url !== null,
        ]);
      expect(await states()).to.have.deep.members([
        ['second', 'open', true],
        ['first', 'open', true],
        ['year', 'paid', true],
      ]);
      const another = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
      expectError(another, 'validation_error', 'plan: pay the open invoice');
      billing.stripe.payOpenInvoice(second.id);
      await billing.drained();
      const names = async () => (await states()).map(([name, status]) => `${name} ${status}`);
      expect(await names()).to.have.members(['second paid', 'first open', 'year paid']);
      const { store } = billing.stripe;
      voidInvoice(store, store.get('invoice', first.id));
      store.emit('customer.subscription.updated', billing.subscription(customer));
      await billing.drained();
      expect(await names()).to.have.members(['second paid', 'first void', 'year paid']);
    });

    it('can be read while Stripe is unavailable', async () => {
      const customer = await billing.createCustomer('pro');
      billing.stripe.faults.all = 'error';
      expect((await list(customer)).data).to.have.length(1);
    });

    it('shows a refund of a plan and of a top-up', async () => {
      const customer = await billing.createCustomer('pro');
      await billing.topUp(customer, 5_000);
      const [topup, plan] = (await list(customer)).data;
      billing.stripe.refund(topup.invoice_id, 2_000);
      billing.stripe.refund(plan.invoice_id, 800);
      await billing.drained();
      expect((await list(customer)).data.map(({ refunded_cents: cents }) => cents)).to.deep.equal([2_000, 800]);
    });

    it('shows an open invoice until it is paid', async () => {
      const customer = await billing.createCustomer(null);
      const page = await billing.openCheckout(customer, 'lite');
      billing.stripe.completeCheckout(page, { async: true });
      await billing.drained();
      expect((await list(customer)).data.map(({ status, paid_at }) => [status, paid_at])).to.deep.equal([
        ['open', null],
      ]);
      billing.stripe.settlePayment(page, 'succeeded');
      await billing.drained();
      expect((await list(customer)).data.map(({ status }) => status)).to.deep.equal(['paid']);
    });

    it('has the invoices of before it existed after the daily sync of a subscription', async () => {
      const customer = await billing.createCustomer('pro');
      const id = await getAccountId(billing.service, customer);
      await billing.service.sql('DELETE FROM invoices WHERE account_id = $1', [id]);
      await billing.service.sql('UPDATE subscriptions SET synced_at = NULL WHERE account_id = $1', [id]);
      await runJob(billing, 'billing', 'payments.reconcile');
      expect((await list(customer)).data.map(({ description }) => description)).to.deep.equal(['Pro plan, yearly']);
    });

    describe('on the billing page', () => {
      it('says that payments will appear before there are any', async () => {
        const visitor = createBrowserFor(await billing.createCustomer(null));
        expect((await visitor.request(at('/account/billing/'))).text).to.include('No payments yet.');
      });

      it('lists plans, top-ups and refunds once, with what they brought', async () => {
        const customer = await billing.createCustomer('pro');
        await billing.topUp(customer, 5_000);
        const [topup] = (await list(customer)).data;
        const read = async () => {
          const { text } = await createBrowserFor(customer).request(at('/account/billing/'));
          const [, rows = ''] = /id="payments"[^]*?<tbody>([^]*?)<\/tbody>/.exec(text) ?? [];
          return rows
            .split('</tr>')
            .slice(0, -1)
            .map((row) => row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' '));
        };
        const [first, second, ...others] = await read();
        expect(first).to.match(/ 1,896 credits Top-up, 1,896 left Paid \$50 FAKE-/);
        expect(second).to.match(/ Pro plan, one year Paid \$348 FAKE-/);
        expect(others).to.deep.equal([]);
        billing.stripe.refund(topup.invoice_id, 2_000);
        await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 10_000 } });
        await billing.drained();
        const [waiting, refunded] = await read();
        expect(waiting).to.match(/ 3,793 credits Top-up Waiting for payment \$100 –/);
        expect(refunded).to.match(/ 1,896 credits Top-up, 1,138 left \$20 refunded \$50 FAKE-/);
      });

      it('does not say that the payment of a plan was refunded while it is disputed', async () => {
        const customer = await billing.createCustomer('pro');
        const [{ invoice_id: invoice }] = (await list(customer)).data;
        billing.stripe.openDispute(invoice);
        await billing.drained();
        const { text } = await createBrowserFor(customer).request(at('/account/billing/'));
        expect(text).to.include('<span class="tag off">Refunded or disputed</span>');
      });

      it('has pages of 20 payments', async () => {
        const customer = await billing.createCustomer('pro');
        await billing.service.sql(
          `INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, created_at, completed_at)
           SELECT gen_random_uuid(), $1, 'manual', 'failed', 5000, 1896, now() - make_interval(hours => n), now()
             FROM generate_series(1, 25) AS n`,
          [await getAccountId(billing.service, customer)],
        );
        const visitor = createBrowserFor(customer);
        const { text } = await visitor.request(at('/account/billing/'));
        expect(text).to.include('href="/account/billing/?page=2#payments"').and.to.include('Page 1 of 2');
        const second = await visitor.request(at('/account/billing/?page=2'));
        expect(second.text.match(/>Not paid</g)).to.have.length(6);
        const wrong = await visitor.request(at('/account/billing/?page=0'));
        expect([wrong.status, wrong.text.includes('Page must be a whole number')]).to.deep.equal([400, true]);
      });

      it('links each invoice to its page at Stripe, with an address that is current', async () => {
        const customer = await billing.createCustomer('pro');
        const visitor = createBrowserFor(customer);
        const [invoice] = (await list(customer)).data;
        const { text } = await visitor.request(at('/account/billing/'));
        expect(text).to.include(`href="/account/billing/invoices/${invoice.uuid}/"`).and.to.include(invoice.number);
        const open = async () =>
          (await visitor.request(at(`/account/billing/invoices/${invoice.uuid}/`))).headers.get('location');
        const issued = billing.stripe.store.get('invoice', invoice.invoice_id);
        issued.hosted_invoice_url = `${billing.stripe.url}/invoices/renewed`;
        expect(await open()).to.equal(issued.hosted_invoice_url);
        billing.stripe.faults['invoices.retrieve'] = 'error';
        expect(await open()).to.equal(invoice.hosted_invoice_url);
      });
    });
  });
});
