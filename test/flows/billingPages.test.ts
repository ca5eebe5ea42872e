import { expect } from 'chai';
import { getStaffMetrics } from '../../shared/domain/reports/staffMetrics.ts';
import { useBillingService } from '../harness/billingService.ts';
import { getPageWithForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor, findForm, type HttpBrowser } from '../harness/httpBrowser.ts';

const getOnboardingStep = async (customer: TestCustomer): Promise<string> =>
  (await customer.requestWithSession('GET', '/authentication/me/')).body.user.onboarding_step;

const countCompletedInMetrics = async (): Promise<number> => (await getStaffMetrics()).users.onboarding.complete;

describe('account pages with a payment processor', () => {
  const billing = useBillingService({ workers: 1 });

  const at = (path: string) => `${billing.service.baseUrl}${path}`;

  const sendForm = async (visitor: HttpBrowser, action: string, fields: Record<string, string>) => {
    const { text } = await visitor.request(at(getPageWithForm(action)));
    return visitor.submitForm(at(action), { ...findForm(text, action).fields, ...fields });
  };

  it('completes the onboarding when the webhook starts the subscription', async () => {
    const before = await countCompletedInMetrics();
    const customer = await billing.createCustomer(null);
    const visitor = createBrowserFor(customer);
    await sendForm(visitor, '/account/profile/', { first_name: 'Ada' });
    const page = await sendForm(visitor, '/account/plan/', { plan: 'pro' });
    const [, url = ''] = /class="button main wide" href="([^"]+)"/.exec(page.text) ?? [];
    expect(await getOnboardingStep(customer)).to.equal('plan');
    billing.stripe.completeCheckout(url.replaceAll('&amp;', '&'));
    await billing.drained();
    expect(await getOnboardingStep(customer)).to.equal('complete');
    expect(await countCompletedInMetrics()).to.equal(before + 1);
  });

  it('waits for a payment that is not confirmed yet, without offering to subscribe again', async () => {
    const customer = await billing.createCustomer(null);
    const visitor = createBrowserFor(customer);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    const waiting = await visitor.request(at('/account/?checkout=success'));
    expect(waiting.text).to.include('<h1>Waiting for payment</h1>').and.to.not.include('Subscribe');
    expect(waiting.text).to.include(
      '<meta http-equiv="refresh" content="5;url=/account/?checkout=success&amp;reloads=1"/>',
    );
    const next = await visitor.request(at('/account/?checkout=success&reloads=1'));
    expect(next.text).to.include('content="5;url=/account/?checkout=success&amp;reloads=2"');

    // The page stops reloading, because a bank payment can take days.
    const late = await visitor.request(at('/account/?checkout=success&reloads=24'));
    expect(late.text).to.include('Your payment is not confirmed yet.').and.to.not.include('http-equiv="refresh"');

    billing.stripe.completeCheckout(body.checkout_url);
    await billing.drained();
    const paid = await visitor.request(at('/account/?checkout=success&reloads=2'));
    expect(paid.text)
      .to.include('Pro plan')
      .and.to.include('Your Pro plan is active, and you have 1,100 credits.')
      .and.to.not.include('http-equiv="refresh"');
  });

  it('does not say that a plan change was paid when the customer returns from its page', async () => {
    const customer = await billing.createCustomer('lite');
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
    const [id = ''] = /bps_\w+/.exec(body.checkout_url) ?? [];
    const returnUrl = billing.stripe.store.get('billing_portal.session', id).return_url;
    expect(returnUrl).to.equal(at('/account/'));
    const { text } = await createBrowserFor(customer).request(at('/account/'));
    expect(text).to.include('Lite plan').and.to.not.include('Payment complete');
  });

  it('waits for a top-up that is not confirmed yet', async () => {
    const customer = await billing.createCustomer('pro');
    const visitor = createBrowserFor(customer);
    const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const address = at('/account/?checkout=success');
    expect((await visitor.request(address)).text).to.include('<h1>Waiting for payment</h1>');
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.drained();
    expect((await visitor.request(address)).text).to.not.include('Waiting for payment');
  });

  it('does not wait for an account that never opened a checkout', async () => {
    const customer = await billing.createCustomer(null);
    const { text } = await createBrowserFor(customer).request(at('/account/?checkout=success'));
    expect(text).to.include('No plan yet.').and.to.not.include('Waiting for payment');
  });
});
