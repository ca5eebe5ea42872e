import { expect } from 'chai';
import { getAffiliateStatus } from '../harness/affiliates.ts';
import { COMMISSION, PayoutFixture } from '../harness/payoutFixture.ts';
import { eventually } from '../harness/testService.ts';

describe('payouts with faults of transfers', () => {
  const fixture = new PayoutFixture();
  before(() => fixture.start());
  afterEach(() => fixture.reset());
  after(() => fixture.billing.stop());

  it('creates one transfer per affiliate for concurrent runs on two workers', async () => {
    const all = await Promise.all([fixture.createAffiliate(), fixture.createAffiliate()]);
    for (const { refer } of all) await fixture.billing.subscribe(await refer(), 'lite');
    fixture.billing.stripe.latencyMs = 30;
    await fixture.advanceMonths();
    await Promise.all(Array.from({ length: 8 }, () => fixture.runPayouts()));
    await eventually('paid', async () =>
      (await Promise.all(all.map((one) => one.stats()))).every((s) => s.paid_cents > 0),
    );
    for (const { transfers } of all) expect(transfers()).to.deep.equal([COMMISSION.lite]);
  });

  for (const how of ['drop after doing', 'drop', 'error', 'error kept'] as const) {
    const isDone = how === 'drop after doing';
    it(`finds a transfer whose response was lost (${how}) and ${isDone ? 'does not repeat it' : 'repeats it'}`, async () => {
      const { refer, transfers, stats } = await fixture.createAffiliate();
      await fixture.billing.subscribe(await refer(), 'lite');
      fixture.billing.stripe.faults['transfers.create'] = how;
      await fixture.advanceMonths();
      await fixture.runPayouts();
      expect(transfers()).to.deep.equal(isDone ? [COMMISSION.lite] : []);
      expect(await stats()).to.include({ pending_cents: COMMISSION.lite, paid_cents: 0 });
      await fixture.runPayouts();
      delete fixture.billing.stripe.faults['transfers.create'];
      // Stripe replays the saved response for a day.
      if (how === 'error kept') fixture.billing.stripe.clockOffsetMs += 25 * 3_600_000;
      await fixture.makePendingDue();
      await fixture.runPayouts();
      expect(transfers()).to.deep.equal([COMMISSION.lite]);
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
      fixture.billing.stripe.clockOffsetMs = 0;
    });
  }

  for (const [month, monthsAgo] of [
    ['this month', 0],
    ['last month', 1],
  ] as const) {
    it(`rejects a payout of ${month} whose transfer was reversed by hand, and pays its commissions hours later`, async () => {
      const { refer, transfers, stats, affiliate } = await fixture.createAffiliate();
      await fixture.billing.subscribe(await refer(), 'lite');
      await fixture.advanceMonths();
      await fixture.runPayouts();
      const { stripe, service } = fixture.billing;
      const [payout] = await service.sql(
        `UPDATE payouts p SET month = month - make_interval(months => $2) FROM accounts a
          WHERE a.id = p.affiliate_id AND a.email = $1 RETURNING p.*`,
        [affiliate.email, monthsAgo],
      );
      stripe.reverseTransfer(payout.stripe_transfer_id);
      await fixture.billing.drained();
      await fixture.runPayouts();
      expect(transfers()).to.deep.equal([]);
      expect(await stats()).to.include({ pending_cents: COMMISSION.lite, paid_cents: 0 });
      await service.sql(`UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE uuid = $1`, [
        payout.uuid,
      ]);
      await fixture.runPayouts();
      expect(transfers()).to.deep.equal([COMMISSION.lite]);
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
    });
  }

  it('releases a simulated payout, and transfers nothing for it', async () => {
    const { refer, transfers, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    const { service, stripe } = fixture.billing;
    const [{ commission }] = await service.sql(
      `UPDATE commissions c SET is_simulated = true, settled_cents = amount_cents FROM affiliates a
        WHERE a.account_id = c.affiliate_id AND a.connect_account_id = $1 RETURNING c.id AS commission`,
      [accountId],
    );
    const requests = () => stripe.requests.filter(({ name }) => name.startsWith('transfers.')).length;
    const before = requests();
    const [{ uuid }] = await service.sql(
      `WITH payout AS (
         INSERT INTO payouts (uuid, affiliate_id, month, status, amount_cents, created_at)
         SELECT gen_random_uuid(), affiliate_id, date_trunc('month', payable_at) + interval '1 month', 'pending', amount_cents, now()
           FROM commissions WHERE id = $1 RETURNING *
       ), item AS (
         INSERT INTO payout_items (payout_uuid, commission_id, amount_cents) SELECT uuid, $1, amount_cents FROM payout
       ), task AS (
         INSERT INTO tasks (kind, key, account_id, run_at, created_at)
         SELECT 'payout.transfer', uuid, affiliate_id, now(), now() FROM payout
       ) SELECT uuid FROM payout`,
      [commission],
    );
    await fixture.runPayouts();
    const [payout] = await service.sql(
      `SELECT p.status, p.last_error, c.settled_cents FROM payouts p, commissions c WHERE p.uuid = $1 AND c.id = $2`,
      [uuid, commission],
    );
    expect(payout).to.deep.equal({ status: 'rejected', last_error: 'It was simulated.', settled_cents: 0 });
    expect(requests()).to.equal(before);
    expect(transfers()).to.deep.equal([]);
  });

  it('retries a transfer that exceeded the balance hours later, less the refunds by then', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const [kept, refunded] = [await refer(), await refer()];
    await fixture.billing.subscribe(kept, 'lite');
    await fixture.billing.subscribe(refunded, 'lite');
    fixture.billing.stripe.store.balanceCents = 100;
    await fixture.advanceMonths();
    await fixture.runPayouts();
    await fixture.runPayouts();
    expect(fixture.billing.stripe.requests.filter(({ name }) => name === 'transfers.create').at(-1)?.params).to.include(
      {
        amount: String(2 * COMMISSION.lite),
      },
    );
    expect(transfers()).to.deep.equal([]);
    fixture.billing.stripe.refund(fixture.getInvoiceId(refunded));
    await fixture.billing.drained();
    fixture.billing.stripe.store.balanceCents = null;
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([]);
    await fixture.billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'rejected'`,
    );
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
  });

  it('disables payouts when a transfer is rejected by an account whose event was lost', async () => {
    const { refer, transfers, affiliate, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    fixture.billing.stripe.delivery.drop = 1;
    fixture.billing.stripe.onboard(accountId, 'blocked');
    fixture.billing.stripe.delivery.dropped.length = 0;
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([]);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: true });
  });

  /** Releases a payout as another worker does whose request was rejected. */
  async function releaseMeanwhile(accountId: string): Promise<string> {
    const [{ uuid }] = await fixture.billing.service.sql(
      `WITH refused AS (
         UPDATE payouts SET status = 'rejected', completed_at = now() WHERE status = 'pending' AND connect_account_id = $1 RETURNING uuid
       ), back AS (
         UPDATE commissions c SET settled_cents = c.settled_cents - i.amount_cents
           FROM payout_items i JOIN refused ON refused.uuid = i.payout_uuid WHERE c.id = i.commission_id
       ) SELECT uuid FROM refused`,
      [accountId],
    );
    return uuid;
  }

  it('records a transfer that succeeds after another worker was rejected as that of the next payout', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    fixture.billing.stripe.latencyMs = 700;
    const countTransfers = () =>
      fixture.billing.stripe.requests.filter(({ name }) => name === 'transfers.create').length;
    const before = countTransfers();
    const paying = fixture.runPayouts();
    await eventually('the transfer is requested', async () => countTransfers() > before);
    const uuid = await releaseMeanwhile(accountId);
    await paying;
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    fixture.billing.stripe.latencyMs = 0;
    await fixture.billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE uuid = $1`,
      [uuid],
    );
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
  });

  it('finds a transfer that succeeded after another worker was rejected and before its own worker died', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    fixture.billing.stripe.faults['transfers.create'] = 'drop after doing';
    await fixture.runPayouts();
    const uuid = await releaseMeanwhile(accountId);
    delete fixture.billing.stripe.faults['transfers.create'];
    await fixture.billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE uuid = $1`,
      [uuid],
    );
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
  });

  /** Restores the database to a time before the payouts of an affiliate. Their transfers were made days ago. */
  async function loseTransferredPayouts(accountId: string): Promise<void> {
    const { service, stripe } = fixture.billing;
    await service.sql(
      `WITH lost AS (
         UPDATE commissions c SET settled_cents = c.settled_cents - i.amount_cents
           FROM payout_items i JOIN payouts p ON p.uuid = i.payout_uuid
          WHERE c.id = i.commission_id AND p.connect_account_id = $1 AND p.status = 'paid'
       ), items AS (
         DELETE FROM payout_items i USING payouts p
          WHERE p.uuid = i.payout_uuid AND p.connect_account_id = $1 AND p.status = 'paid'
       ) DELETE FROM payouts WHERE connect_account_id = $1 AND status = 'paid'`,
      [accountId],
    );
    for (const transfer of stripe.store.list('transfer')) transfer.created -= 3 * 86_400;
  }

  it('pays once what was transferred before a restore of the database, and what was not with the next payout', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    await loseTransferredPayouts(accountId);
    await fixture.billing.subscribe(await refer(), 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: COMMISSION.pro, paid_cents: COMMISSION.lite });
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.pro, COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('deducts a refund after a restore of the database from what was transferred before', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    const refunded = await refer();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.billing.subscribe(refunded, 'lite');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    await loseTransferredPayouts(accountId);
    fixture.billing.stripe.refund(fixture.getInvoiceId(refunded));
    await fixture.billing.drained();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([2 * COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: -COMMISSION.lite, paid_cents: 2 * COMMISSION.lite });
    await fixture.billing.subscribe(await refer(), 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.pro - COMMISSION.lite, 2 * COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('pays once if a payout is pending in a restored database that was rejected and followed by another', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    fixture.billing.stripe.store.balanceCents = 0;
    await fixture.runPayouts();
    fixture.billing.stripe.store.balanceCents = null;
    const setRejected = (change: string) =>
      fixture.billing.service.sql(
        `UPDATE payouts SET ${change} WHERE status = 'rejected' AND connect_account_id = $1`,
        [accountId],
      );
    await setRejected(`completed_at = completed_at - interval '7 hours'`);
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    await loseTransferredPayouts(accountId);
    await fixture.billing.service.sql(
      `WITH settled AS (
         UPDATE commissions c SET settled_cents = c.settled_cents + i.amount_cents
           FROM payout_items i JOIN payouts p ON p.uuid = i.payout_uuid
          WHERE c.id = i.commission_id AND p.connect_account_id = $1
       ) INSERT INTO tasks (kind, key, account_id, run_at, created_at)
         SELECT 'payout.transfer', uuid, affiliate_id, now(), now() FROM payouts WHERE connect_account_id = $1`,
      [accountId],
    );
    await setRejected(`status = 'pending', completed_at = NULL, last_error = NULL`);
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
  });

  it('creates no payout while the outcome of an earlier payout is unknown', async () => {
    const { refer, transfers, stats, accountId } = await fixture.createAffiliate();
    const [kept, refunded] = [await refer(), await refer()];
    await fixture.billing.subscribe(kept, 'lite');
    await fixture.billing.subscribe(refunded, 'lite');
    await fixture.advanceMonths();
    fixture.billing.stripe.faults['transfers.create'] = 'error';
    await fixture.runPayouts();
    const payouts = () =>
      fixture.billing.service.sql('SELECT status, amount_cents FROM payouts WHERE connect_account_id = $1', [
        accountId,
      ]);
    expect(await payouts()).to.deep.equal([{ status: 'pending', amount_cents: 2 * COMMISSION.lite }]);
    await fixture.billing.service.sql(
      `UPDATE payouts SET month = month - interval '1 month' WHERE connect_account_id = $1`,
      [accountId],
    );
    fixture.billing.stripe.refund(fixture.getInvoiceId(refunded));
    await fixture.billing.drained();
    await fixture.billing.subscribe(await refer(), 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(await payouts()).to.have.length(1);
    delete fixture.billing.stripe.faults['transfers.create'];
    fixture.billing.stripe.store.balanceCents = 0;
    await fixture.makePendingDue();
    await fixture.runPayouts();
    expect((await payouts())[0]).to.include({ status: 'rejected' });
    fixture.billing.stripe.store.balanceCents = null;
    await fixture.billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'rejected'`,
    );
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite + COMMISSION.pro]);
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('creates no transfers while the processor is unavailable', async () => {
    const { refer, transfers } = await fixture.createAffiliate();
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    fixture.billing.stripe.faults.all = 'error';
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([]);
    delete fixture.billing.stripe.faults.all;
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
  });
});
