import { expect } from 'chai';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { PayoutFixture } from '../harness/payoutFixture.ts';

describe('the affiliate page', () => {
  const fixture = new PayoutFixture();
  before(() => fixture.start());
  after(() => fixture.billing.stop());

  it('shows the link, commissions and payouts, and not who the customers are', async () => {
    const { affiliate, code, refer } = await fixture.createAffiliate();
    const visitor = createBrowserFor(affiliate);
    const read = async () => (await visitor.request(`${fixture.billing.service.baseUrl}/account/affiliate/`)).text;
    expect(await read())
      .to.include(`/r/${code}</code>`)
      .and.to.include('None. A commission appears here')
      .and.to.include('None. Payouts appear here');

    const customer = await refer();
    await fixture.billing.subscribe(customer, 'lite');
    const earned = await read();
    expect(earned).to.match(/<td>Payable from [^<]+<\/td><td class="number">\$21\.60<\/td>/);
    expect(earned).to.include('1 sign-up, 1 with an active plan').and.to.not.include(customer.email);

    await fixture.advanceMonths();
    await fixture.runPayouts();
    const paid = await read();
    expect(paid).to.match(/<td>In a payout<\/td><td class="number">\$21\.60<\/td>/);
    expect(paid).to.match(/<td>Paid<\/td><td class="number">\$21\.60<\/td>/);
    expect(paid).to.match(/>Paid<\/div><div class="figure">\$21\.60</);
    expect(paid).to.match(/>Pending<\/div><div class="figure">\$0</);

    for (const [refund, rest, deducted] of [
      ['partly refunded', '10\\.80', '10\\.80'],
      ['refunded', '0', '21\\.60'],
    ]) {
      fixture.billing.stripe.refund(fixture.getInvoiceId(customer), 3_600);
      await fixture.billing.drained();
      const text = `In a payout, ${refund}: \\$${deducted} will be deducted from later payouts`;
      expect(await read()).to.match(new RegExp(`<td>${text}</td><td class="number">\\$${rest}</td>`));
    }
  });

  it('shows how much is payable of a commission that was paid out in part', async () => {
    const { affiliate, refer } = await fixture.createAffiliate();
    const customer = await refer();
    await fixture.billing.subscribe(customer, 'lite');
    const refund = fixture.billing.stripe.refund(fixture.getInvoiceId(customer), 3_600);
    await fixture.billing.drained();
    await fixture.advanceMonths();
    await fixture.runPayouts();
    const visitor = createBrowserFor(affiliate);
    const read = async () => (await visitor.request(`${fixture.billing.service.baseUrl}/account/affiliate/`)).text;
    expect(await read()).to.match(/<td>In a payout, partly refunded<\/td><td class="number">\$10\.80<\/td>/);
    fixture.billing.stripe.failRefund(refund.id);
    await fixture.billing.drained();
    expect(await read()).to.match(/<td>\$10\.80 payable<\/td><td class="number">\$21\.60<\/td>/);
  });
});
