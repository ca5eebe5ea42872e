import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { StripeFixture } from '../harness/stripeFixture.ts';

describe('payouts by Stripe Connect', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a connected account', () => {
    it('lists the transfers of its owner that were not reversed, oldest first', async () => {
      const accountUuid = randomUUID();
      const connectAccountId = await fixture.stripe.createConnectedAccount({ accountUuid, email: 'ada@example.com' });
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
  });
});
