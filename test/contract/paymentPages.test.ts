import { expect } from 'chai';
import { type Billing, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { formIn, Visitor } from '../harness/identity/visitor.ts';

const visitorFor = (customer: Customer): Visitor => {
  const visitor = new Visitor();
  const [name = '', value = ''] = customer.cookie.split('=');
  visitor.cookies.push({ name, value, path: '/' });
  return visitor;
};

const stepOf = async (customer: Customer): Promise<string> =>
  (await customer.browse('GET', '/authentication/me/')).body.user.onboarding_step;

describe('account pages with a payment processor', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling({ workers: 1 });
  });
  after(() => billing.stop());

  const at = (path: string) => `${billing.service.baseUrl}${path}`;

  const sendForm = async (visitor: Visitor, action: string, fields: Record<string, string>) => {
    const { text } = await visitor.ask(at('/account/'));
    return visitor.send(at(action), { ...formIn(text, action).fields, ...fields });
  };

  const completedInMetrics = async (): Promise<number> => {
    const [row] = await billing.service.sql(
      `SELECT coalesce(sum(times), 0)::int AS times FROM
         (SELECT times FROM metric_totals WHERE (metric, label) = ('accounts', 'complete')
          UNION ALL SELECT times FROM metric_gains WHERE (metric, label) = ('accounts', 'complete')) sums`,
    );
    return row.times;
  };

  it('completes the onboarding when the webhook begins the subscription', async () => {
    const before = await completedInMetrics();
    const customer = await billing.customer(null);
    const visitor = visitorFor(customer);
    await sendForm(visitor, '/account/profile/', { first_name: 'Ada' });
    const page = await sendForm(visitor, '/account/plan/', { plan: 'pro' });
    const [, url = ''] = /class="button main wide" href="([^"]+)"/.exec(page.text) ?? [];
    expect(await stepOf(customer)).to.equal('plan');
    billing.stripe.completeCheckout(url.replaceAll('&amp;', '&'));
    await billing.quiet();
    expect(await stepOf(customer)).to.equal('complete');
    expect(await completedInMetrics()).to.equal(before + 1);
  });

  it('waits for a payment that is not confirmed yet, without offering to subscribe again', async () => {
    const customer = await billing.customer(null);
    const visitor = visitorFor(customer);
    const { body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    const waiting = await visitor.ask(at('/account/?checkout=success'));
    expect(waiting.text).to.include('<h1>Waiting for the payment</h1>').and.to.not.include('Subscribe');
    expect(waiting.text).to.include(
      '<meta http-equiv="refresh" content="5;url=/account/?checkout=success&amp;reloads=1"/>',
    );
    const next = await visitor.ask(at('/account/?checkout=success&reloads=1'));
    expect(next.text).to.include('content="5;url=/account/?checkout=success&amp;reloads=2"');

    // Not for ever: a payment by a bank can take days.
    const late = await visitor.ask(at('/account/?checkout=success&reloads=24'));
    expect(late.text).to.include('Your payment is not confirmed yet.').and.to.not.include('http-equiv="refresh"');

    billing.stripe.completeCheckout(body.checkout_url);
    await billing.quiet();
    const paid = await visitor.ask(at('/account/?checkout=success&reloads=2'));
    expect(paid.text).to.include('Pro plan').and.to.include('Thank you.').and.to.not.include('http-equiv="refresh"');
  });

  it('waits for a top-up that is not confirmed yet', async () => {
    const customer = await billing.customer('pro');
    const visitor = visitorFor(customer);
    const { body } = await customer.call('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const address = at('/account/?checkout=success');
    expect((await visitor.ask(address)).text).to.include('<h1>Waiting for the payment</h1>');
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.quiet();
    expect((await visitor.ask(address)).text).to.not.include('Waiting for the payment');
  });

  it('does not wait for an account that never opened a checkout', async () => {
    const customer = await billing.customer(null);
    const { text } = await visitorFor(customer).ask(at('/account/?checkout=success'));
    expect(text).to.include('No plan yet.').and.to.not.include('Waiting for the payment');
  });
});
