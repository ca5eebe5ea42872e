import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createStripeClient } from '../../shared/gateways/payments/stripeClient.ts';
import { signPayload } from '../fakes/stripe/events.ts';
import { HttpFake } from '../fakes/httpFake.ts';
import { readTextBody } from '../fakes/misbehave.ts';
import { RETURN_URLS, StripeFixture } from '../harness/stripeFixture.ts';

describe('webhooks of Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a webhook', () => {
    const event = {
      id: 'evt_1',
      object: 'event',
      type: 'invoice.paid',
      data: { object: { id: 'in_1', object: 'invoice' } },
    };
    const body = Buffer.from(JSON.stringify(event));
    it('is accepted if it was signed with the secret in the last five minutes', async () => {
      for (const age of [0, 290]) {
        const signature = await signPayload(body.toString(), fixture.fake.webhookSecret, nowSeconds() - age);
        expect(fixture.stripe.verifyEvent(body, signature)).to.deep.equal({
          id: 'evt_1',
          type: 'invoice.paid',
          objectId: 'in_1',
        });
      }
    });
  });

  for (const type of [
    'balance.available',
    'balance_settings.updated',
    'billing.alert.triggered',
    'cash_balance.funds_available',
    'entitlements.active_entitlement_summary.updated',
    'tax.settings.updated',
  ]) {
    it(`${type}, whose object has no id, needs nothing`, async () => {
      const payload = JSON.stringify({ id: 'evt_1', type, data: { object: { object: 'any' } } });
      const signature = await signPayload(payload, fixture.fake.webhookSecret);
      expect(fixture.stripe.verifyEvent(Buffer.from(payload), signature)).to.equal(null);
    });
  }

  it('a thin event is rejected with the setting to change', async () => {
    const thin = { id: 'evt_thin', object: 'v2.core.event', type: 'v1.billing.meter.no_meter_found' };
    const payload = JSON.stringify(thin);
    const signature = await signPayload(payload, fixture.fake.webhookSecret);
    expect(() => fixture.stripe.verifyEvent(Buffer.from(payload), signature)).to.throw(/thin event/);
  });

  describe('the fake Stripe', () => {
    it('delivers each event, signed, until the webhook accepts it', async () => {
      const webhook = await new Webhook().start();
      fixture.fake.webhookUrl = webhook.url;
      webhook.status = 503;
      const { subscriptionId } = await fixture.subscribe();
      await webhook.posts(5);
      webhook.status = 200;
      await fixture.fake.drained();
      const accepted = webhook.received.filter(({ status }) => status === 200);
      const events = accepted.map(({ body, signature }) => fixture.stripe.verifyEvent(body, signature));
      expect(events.map((event) => event?.type)).to.have.members([
        'payment_method.attached',
        'payment_intent.succeeded',
        'customer.subscription.created',
        'invoice.paid',
        'checkout.session.completed',
      ]);
      expect(events.find((event) => event?.type === 'customer.subscription.created')?.objectId).to.equal(
        subscriptionId,
      );
      await webhook.stop();
    });

    it('holds back, duplicates, shuffles and drops events if so configured', async () => {
      const webhook = await new Webhook().start();
      Object.assign(fixture.fake, { webhookUrl: webhook.url });
      Object.assign(fixture.fake.delivery, { pause: true, duplicate: 1, reorder: true });
      const before = fixture.fake.events.length;
      for (let count = 0; count < 5; count += 1) await fixture.subscribe();
      expect(webhook.received).to.deep.equal([]);
      fixture.fake.delivery.pause = false;
      await fixture.fake.drained();
      const ids = fixture.fake.events.slice(before).map(({ id }) => id);
      const received = webhook.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
      expect(received.toSorted()).to.deep.equal([...ids, ...ids].toSorted());
      expect(received.filter((id, index) => received.indexOf(id) === index)).to.not.deep.equal(ids);

      Object.assign(fixture.fake.delivery, { duplicate: 0, drop: 1 });
      await fixture.subscribe();
      await fixture.fake.drained();
      expect(webhook.received).to.have.length(received.length);
      fixture.fake.delivery.sendDropped();
      await fixture.fake.drained();
      expect(webhook.received).to.have.length(received.length + 5);
      await webhook.stop();
    });

    it('detects a second charge, a second subscription and a second customer', async () => {
      const { accountUuid, customerId, paymentMethodId, topupUuid } = await fixture.chargeTopup();
      const client = createStripeClient(fixture.fake.secretKey, fixture.fake.url);
      // A duplicate counts only if it buys something.
      const second = await client.customers.create({ metadata: { account_uuid: accountUuid } });
      const { id } = await client.checkout.sessions.create({
        mode: 'subscription',
        customer: second.id,
        line_items: [{ price: fixture.fake.prices.lite, quantity: 1 }],
        success_url: RETURN_URLS.successUrl,
        cancel_url: RETURN_URLS.cancelUrl,
      });
      fixture.fake.completeCheckout(id);
      await client.paymentIntents.create({
        amount: 5_000,
        currency: 'usd',
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: true,
        confirm: true,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        metadata: { topup_uuid: topupUuid },
      });
      expect(fixture.fake.summarize()).to.deep.include({
        doubleChargedTopups: [topupUuid],
        doubleSubscribedAccounts: [accountUuid],
        duplicateCustomers: [accountUuid],
      });
    });
  });
});

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** A webhook that records what it receives, and responds with a configurable status. */
class Webhook extends HttpFake {
  status = 200;
  readonly received: { body: Buffer; signature: string; status: number }[] = [];
  private readonly arrived = new EventEmitter();

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status } = this;
    const body = Buffer.from(await readTextBody(request));
    this.received.push({ body, signature: String(request.headers['stripe-signature']), status });
    response.writeHead(status).end();
    this.arrived.emit('post');
  }

  async posts(count: number): Promise<void> {
    while (this.received.length < count) await once(this.arrived, 'post');
  }
}
