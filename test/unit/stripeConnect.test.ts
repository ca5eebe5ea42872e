import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ProcessorError } from '../../shared/gateways/payments/paymentProcessor.ts';
import { captureError } from '../harness/expectRejection.ts';
import { expectProcessorError, StripeFixture } from '../harness/stripeFixture.ts';

describe('payouts by Stripe Connect', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a connected account', () => {
    const ONBOARDING = { returnUrl: 'https://example.com/back', refreshUrl: 'https://example.com/again' };
    const GONE = {
      deleted: (id: string) => fixture.fake.deleteCustomer(id),
      disconnected: (id: string) => fixture.fake.disconnect(id),
    };
    for (const [how, lose] of Object.entries(GONE)) {
      it(`that is ${how} reads as null, rejects transfers, and is replaced once`, async () => {
        const uuid = randomUUID();
        const id = await fixture.createConnectedAccount(uuid);
        lose(id);
        expect(await fixture.stripe.readConnectedAccount(id)).to.equal(null);
        const request = { payoutUuid: randomUUID(), accountUuid: uuid, connectAccountId: id, amountCents: 100 };
        for (const refused of [fixture.stripe.openOnboarding(id, ONBOARDING), fixture.stripe.createTransfer(request)]) {
          const error = (await captureError(refused)) as ProcessorError;
          expect(error).to.include({ fault: 'rejected', isConnectedAccountGone: true, isCustomerGone: false });
          expect(error.message).to.not.include('STRIPE_SECRET_KEY');
        }
        const other = await fixture.createConnectedAccount(uuid, id);
        expect(other).to.not.equal(id);
        expect(await fixture.createConnectedAccount(uuid, id)).to.equal(other);
        expect(await fixture.stripe.openOnboarding(other, ONBOARDING)).to.include(other);
      });
    }

    it('lists the transfers of its owner that were not reversed, oldest first', async () => {
      const accountUuid = randomUUID();
      const connectAccountId = await fixture.createConnectedAccount(accountUuid);
      fixture.fake.onboard(connectAccountId);
      const transfer = (amountCents: number, owner = accountUuid) =>
        fixture.stripe.createTransfer({ payoutUuid: randomUUID(), accountUuid: owner, connectAccountId, amountCents });
      await transfer(99, randomUUID());
      const made = [];
      for (let amountCents = 100; amountCents <= 201; amountCents += 1) made.push(await transfer(amountCents));
      const [reversed, reversedInPart, ...kept] = made;
      fixture.fake.reverseTransfer(reversed?.id as string);
      fixture.fake.reverseTransfer(reversedInPart?.id as string, 1);
      const listed = await fixture.stripe.listTransfers(accountUuid);
      expect(listed).to.deep.equal([reversedInPart, ...kept]);
      expect(listed[0]).to.deep.equal({ id: reversedInPart?.id, connectAccountId, amountCents: 101 });
    });

    it('cannot be created if Connect is not enabled', async () => {
      fixture.fake.store.isConnectEnabled = false;
      await expectProcessorError(fixture.createConnectedAccount(randomUUID()), 'rejected');
      fixture.fake.store.isConnectEnabled = true;
    });
  });
});
