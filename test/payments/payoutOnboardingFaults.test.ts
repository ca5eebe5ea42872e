import { expect } from 'chai';
import { enrollAffiliate, getAffiliateStatus, signUpReferred } from '../harness/affiliates.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { addMember, findListed } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { COMMISSION, PayoutFixture } from '../harness/payoutFixture.ts';

describe('payout onboarding with faults of connected accounts', () => {
  const fixture = new PayoutFixture();
  before(() => fixture.start());
  afterEach(() => fixture.reset());
  after(() => fixture.billing.stop());

  it('syncs an affiliate who returns from onboarding, and offers a new link for an expired one', async () => {
    const { affiliate } = await enrollAffiliate(fixture.billing.service.baseUrl);
    expect((await affiliate.request('POST', '/api/affiliate/onboarding-link/')).status).to.equal(200);
    const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
    expect(again.status).to.equal(200);
    const link = /http[^"]+\/setup\/e\/acct_\w+/.exec(again.body as string)?.[0] as string;
    const comeBack = async () => {
      const { status, headers } = await affiliate.requestWithSession('GET', '/account/payouts/returned');
      return [status, headers.get('location')];
    };
    // The form was left before its end.
    expect(await comeBack()).to.deep.equal([303, '/account/affiliate/']);
    fixture.billing.stripe.delivery.drop = 1;
    fixture.billing.stripe.onboard(link);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false });
    expect(await comeBack()).to.deep.equal([303, '/account/affiliate/?done=payouts']);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: true, connect_onboarded: true });
    fixture.billing.stripe.delivery.dropped.length = 0;
  });

  for (const how of ['deleteCustomer', 'disconnect'] as const) {
    it(`replaces a missing connected account once (${how}), and pays its released payout to the new one`, async () => {
      const { affiliate, refer, accountId, stats } = await fixture.createAffiliate();
      await fixture.billing.subscribe(await refer(), 'lite');
      await fixture.advanceMonths();
      fixture.billing.stripe[how](accountId);
      await fixture.runPayouts();
      expect(await stats()).to.include({ pending_cents: COMMISSION.lite, paid_cents: 0 });
      expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: false });
      const [refused] = await fixture.billing.service.sql(
        `SELECT p.status, p.last_error FROM payouts p JOIN affiliates a ON a.account_id = p.affiliate_id WHERE a.connect_account_id = $1`,
        [accountId],
      );
      expect(refused.status).to.equal('rejected');
      expect(refused.last_error).to.be.a('string').and.not.include('STRIPE_SECRET_KEY');
      // An old page does not create another account.
      const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
      expect([again.status, again.headers.get('location')]).to.deep.equal([303, '/account/affiliate/']);
      const links = await Promise.all(
        [1, 2, 3].map(() => affiliate.request('POST', '/api/affiliate/onboarding-link/')),
      );
      const opened = links.filter(({ status }) => status === 200);
      expect(opened).to.not.have.length(0);
      const ids = new Set(opened.map(({ body }) => /acct_\w+/.exec(body.url)?.[0]));
      expect(ids.size).to.equal(1);
      expect(ids).to.not.include(accountId);
      fixture.billing.stripe.onboard(opened[0]?.body.url);
      await fixture.billing.drained();
      await fixture.billing.service.sql(
        `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'rejected'`,
      );
      await fixture.runPayouts();
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
    });
  }

  it('transfers nothing to the former owner of an account that was handed over, and pays the new one', async () => {
    const { affiliate, refer, accountId, transfers } = await fixture.createAffiliate();
    const heir = await addMember(affiliate, 'developer');
    await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    const { uuid } = await findListed(affiliate, heir);
    const handedOver = await affiliate.requestWithSession('POST', `/api/members/${uuid}/hand-over/`, { body: {} });
    expect(handedOver.status).to.equal(204);
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([]);
    const { stats, ...state } = await getAffiliateStatus(affiliate);
    expect(state).to.include({ payout_enabled: false, connect_onboarded: false });
    expect(stats).to.include({ pending_cents: COMMISSION.lite, paid_cents: 0 });
    const link = await heir.requestWithSession('POST', '/api/affiliate/onboarding-link/', { body: {} });
    expect(link.status, JSON.stringify(link.body)).to.equal(200);
    expect(link.body.url).to.not.include(accountId);
    fixture.billing.stripe.onboard(link.body.url);
    await fixture.billing.drained();
    await fixture.runPayouts();
    expect((await getAffiliateStatus(affiliate)).stats).to.include({ pending_cents: 0, paid_cents: COMMISSION.lite });
    expect(transfers()).to.deep.equal([]);
  });

  it('keeps no connected account that its former owner created while the account was handed over', async () => {
    const { service } = fixture.billing;
    const { affiliate } = await enrollAffiliate(service.baseUrl);
    const heir = await addMember(affiliate, 'admin');
    const { uuid } = await findListed(affiliate, heir);
    const id = await getAccountId(service, affiliate);
    const created = await whileAccountIsLocked(service, id, async (holder) => {
      const request = affiliate.requestWithSession('POST', '/api/affiliate/onboarding-link/', { body: {} });
      await waitForLockWaits(service);
      await holder.query(`UPDATE members SET role = 'admin' WHERE account_id = $1 AND role = 'owner'`, [id]);
      await holder.query(`UPDATE members SET role = 'owner' WHERE uuid = $1`, [uuid]);
      await holder.query(
        `UPDATE accounts SET (email, first_name, language, use_case, social_provider) =
           (SELECT email, first_name, language, use_case, social_provider FROM people WHERE email = $2) WHERE id = $1`,
        [id, heir.email],
      );
      return { request };
    });
    expectError(await created.request, 'insufficient_scope', 'repeat it');
    const [stored] = await service.sql('SELECT connect_account_id FROM affiliates WHERE account_id = $1', [id]);
    expect(stored).to.deep.equal({ connect_account_id: null });
  });

  it('returns 503 for onboarding and logs the cause if Connect is not enabled', async () => {
    const { affiliate } = await enrollAffiliate(fixture.billing.service.baseUrl);
    fixture.billing.stripe.store.isConnectEnabled = false;
    const response = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    expect(response.status).to.equal(503);
    expect(response.body.error?.message ?? response.body.detail).to.include('Payouts cannot be set up at the moment');
    const logLine = /^(?=.*payment processor rejected a request).*signed up for Connect/m;
    await Promise.any(fixture.billing.service.apis.map((api) => api.waitForLog(logLine)));
    fixture.billing.stripe.store.isConnectEnabled = true;
    expect((await affiliate.request('POST', '/api/affiliate/onboarding-link/')).status).to.equal(200);
  });

  it('retries a connected account that cannot be read after the others', async () => {
    const { affiliate } = await enrollAffiliate(fixture.billing.service.baseUrl);
    await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    const { code } = await getAffiliateStatus(affiliate);
    await fixture.billing.service.sql(
      `UPDATE affiliates SET synced_at = synced_at - interval '2 hours' WHERE code = $1`,
      [code],
    );
    fixture.billing.stripe.faults['accounts.retrieve'] = 'error';
    await fixture.runPayouts();
    const [{ fresh }] = await fixture.billing.service.sql(
      `SELECT synced_at > now() - interval '1 hour' AS fresh FROM affiliates WHERE code = $1`,
      [code],
    );
    expect(fresh).to.equal(true);
  });

  it('creates nothing at the processor for a link from another site to onboarding', async () => {
    const { affiliate } = await enrollAffiliate(fixture.billing.service.baseUrl);
    const before = fixture.billing.stripe.store.list('account').length;
    const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
    expect([again.status, again.headers.get('location')]).to.deep.equal([303, '/account/affiliate/']);
    const otherCustomer = await signUpReferred(
      fixture.billing.service.baseUrl,
      (await getAffiliateStatus(affiliate)).code,
    );
    expect((await otherCustomer.requestWithSession('GET', '/account/payouts/again')).status).to.equal(303);
    expect(fixture.billing.stripe.store.list('account')).to.have.length(before);
  });
});
