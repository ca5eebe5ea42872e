import { expect } from 'chai';
import { getPageWithForm, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useBillingService } from '../harness/billingService.ts';
import { createBrowserFor, findForm, type HttpBrowser } from '../harness/httpBrowser.ts';

const readSettings = async (customer: TestCustomer) =>
  (await customer.request('GET', '/api/billing/topup/settings/')).body;

/** Returns the address of the page to pay at, to which a form leads. */
function findPaymentPage(text: string): string {
  const [, url = ''] = /class="button main wide" href="([^"]+)"/.exec(text) ?? [];
  return url.replaceAll('&amp;', '&');
}

describe('the billing page', () => {
  const billing = useBillingService({ workers: 1 });
  afterEach(() => billing.stripe.reset());

  const at = (path: string) => `${billing.service.baseUrl}${path}`;
  const send = (visitor: HttpBrowser, action: string, fields: Record<string, string>) =>
    sendAccountForm(billing.service.baseUrl, visitor, action, fields);

  describe('without a plan', () => {
    it('offers all four plans with price, credits and features, and no top-up', async () => {
      const visitor = createBrowserFor(await billing.createCustomer(null));
      const { text } = await visitor.request(at('/account/billing/'));
      for (const name of ['Lite', 'Starter', 'Pro', 'Studio']) expect(text).to.include(`Subscribe to ${name}`);
      for (const part of ['$29', '$348, billed yearly', '1,100 credits every month', 'Recommended'])
        expect(text).to.include(part);
      expect(text).to.include('Credits are sold with a plan').and.to.not.include('/account/billing/topup/');
    });
  });

  describe('with a plan', () => {
    it('marks the current plan, and offers the others', async () => {
      const visitor = createBrowserFor(await billing.createCustomer('pro'));
      const { text } = await visitor.request(at('/account/billing/'));
      expect(text).to.match(/Pro <span class="tag">Your plan<\/span>/);
      expect(text).to.include('Change to Studio').and.to.not.include('Change to Pro');
    });

    it('sells the credits that it shows for an amount, once per form', async () => {
      const customer = await billing.createCustomer('pro');
      const visitor = createBrowserFor(customer);
      const page = await visitor.request(at('/account/billing/'));
      expect(page.text).to.match(/value="100"[^]*?\$100<span class="hint">3,793 credits/);
      const { fields } = findForm(page.text, '/account/billing/topup/');
      const sent = { ...fields, preset: '100' };
      const first = await visitor.submitForm(at('/account/billing/topup/'), sent);
      const again = await visitor.submitForm(at('/account/billing/topup/'), sent);
      const url = findPaymentPage(first.text);
      expect(findPaymentPage(again.text)).to.equal(url);
      const waiting = await visitor.request(at('/account/billing/'));
      expect(waiting.text.match(/Waiting for payment/g)).to.have.length(1);
      billing.stripe.completeCheckout(url);
      await billing.drained();
      expect(await customer.balance()).to.equal(1_100 + 3_793);
      expect((await visitor.request(at('/account/billing/'))).text).to.include('<span class="tag">Paid</span>');
    });

    it('accepts another amount in dollars and cents, within the limits of a top-up', async () => {
      const customer = await billing.createCustomer('pro');
      const visitor = createBrowserFor(customer);
      for (const amount of ['', '49.99', '10000.01', '-50', '5e3', '50.001', '٥٠', ' 50']) {
        const { status, text } = await send(visitor, '/account/billing/topup/', { preset: 'other', amount });
        expect(status, amount).to.equal(400);
        expect(text).to.include('The amount of a top-up must be between $50 and $10,000.');
        expect(text).to.include('<title>Error: Billing · genmeter</title>');
      }
      const unclear = await send(visitor, '/account/billing/topup/', { preset: '50', amount: '75' });
      expect([unclear.status, unclear.text.includes('You chose one amount and entered another.')]).to.deep.equal([
        400,
        true,
      ]);
      const { text } = await send(visitor, '/account/billing/topup/', { preset: 'other', amount: '50.50' });
      expect(findPaymentPage(text)).to.match(/^http/);
      const topups = await billing.service.sql(
        'SELECT amount_cents FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1',
        [customer.email],
      );
      expect(topups).to.deep.equal([{ amount_cents: 5_050 }]);
    });

    it('saves the settings of automatic top-ups, and shows why they were switched off', async () => {
      const customer = await billing.createCustomer('pro');
      const visitor = createBrowserFor(customer);
      const action = '/account/billing/auto-topup/';
      const refused = await send(visitor, action, { enabled: 'on', amount: '75', threshold: '150' });
      if (refused.status === 303) {
        expect(await readSettings(customer)).to.include({
          auto_topup_enabled: true,
          auto_topup_amount_cents: 7_500,
          auto_topup_threshold_credits: 150,
        });
      } else expect(refused.text).to.include('payment method on file');
      const off = await send(visitor, action, { amount: '60', threshold: '0' });
      expect(off.headers.get('location')).to.include('done=auto-topup-off');
      expect(await readSettings(customer)).to.include({ auto_topup_enabled: false, auto_topup_amount_cents: 6_000 });
      for (const threshold of ['', '-1', '1.5', '9999999999'])
        expect((await send(visitor, action, { amount: '60', threshold })).status, threshold).to.equal(400);
      await billing.service.sql('UPDATE accounts SET auto_topup_problem = $2 WHERE email = $1', [
        customer.email,
        'authentication_required',
      ]);
      const { text } = await visitor.request(at('/account/billing/'));
      expect(text).to.include('Automatic top-ups were switched off. Your bank asked for your confirmation');
    });
  });

  it('is where a browser that goes back to a form ends up', async () => {
    const visitor = createBrowserFor(await billing.createCustomer(null));
    for (const path of ['/account/plan/', '/account/portal/', '/account/billing/topup/']) {
      expect(getPageWithForm(path)).to.equal('/account/billing/');
      expect((await visitor.request(at(path))).headers.get('location')).to.equal('/account/billing/');
    }
  });
});
