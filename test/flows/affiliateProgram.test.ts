import { expect } from 'chai';
import {
  getAffiliateStatus,
  enrollAffiliate,
  followReferralLink,
  signUpReferred,
  signUpCustomer,
} from '../harness/affiliates.ts';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { runJob } from '../harness/jobs.ts';
import { runDueTasks } from '../harness/tasks.ts';

const DAY_SECONDS = 86_400;
const enroll = (customer: TestCustomer) => customer.request('POST', '/api/affiliate/enroll/', { body: {} });
const getStats = async (affiliate: TestCustomer) => (await getAffiliateStatus(affiliate)).stats;

describe('the affiliate program', () => {
  const service = useTestService({ apis: 2, workers: 1 });

  const clicks = async (code: string): Promise<number> => {
    const [row] = await service.sql(
      `SELECT coalesce(sum(clicks), 0)::int AS clicks FROM referral_clicks c JOIN affiliates a ON a.account_id = c.affiliate_id
        WHERE a.code = $1`,
      [code],
    );
    return row.clicks;
  };

  it('returns 404 not_found for status and onboarding link before the account is enrolled', async () => {
    const customer = await signUpCustomer(service.baseUrl);
    expectError(await customer.request('GET', '/api/affiliate/status/'), 'not_found');
    expectError(await customer.request('POST', '/api/affiliate/onboarding-link/'), 'not_found');
  });

  it('enrolls with 200 { code, referral_url }, and the account becomes an affiliate', async () => {
    const customer = await signUpCustomer(service.baseUrl);
    const { status, body } = await enroll(customer);
    expect(status).to.equal(200);
    expect(body).to.have.all.keys('code', 'referral_url');
    expect(body.code).to.match(/^[a-z0-9]{12}$/);
    expect(body.referral_url).to.equal(`${service.baseUrl}/r/${body.code}`);
    expect((await customer.requestWithSession('GET', '/authentication/me/')).body.user.is_affiliate).to.equal(true);
  });

  it('returns the same code when it is repeated, also for concurrent requests to two processes', async () => {
    const customer = await signUpCustomer(service.baseUrl);
    const ways = service.baseUrls.map((url) => customer.on(url));
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => enroll(ways[index % 2] as TestCustomer)),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal(Array.from({ length: 12 }, () => 200));
    expect(new Set(responses.map(({ body }) => body.code)).size).to.equal(1);
  });

  it('shows a status with all its fields, and twelve months with the current one last', async () => {
    const { affiliate, code } = await enrollAffiliate(service.baseUrl);
    const { recent, ...status } = await getAffiliateStatus(affiliate);
    expect(status).to.deep.equal({
      code,
      referral_url: `${service.baseUrl}/r/${code}`,
      payout_enabled: false,
      connect_onboarded: false,
      stats: { referrals: 0, active: 0, lifetime_earnings_cents: 0, pending_cents: 0, paid_cents: 0 },
    });
    const now = new Date();
    const months = Array.from({ length: 12 }, (_, index) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 11 + index, 1)).toISOString().slice(0, 7),
    );
    expect(recent).to.deep.equal(months.map((month) => ({ month, referrals: 0, commission_cents: 0 })));
  });

  it('pays simulated commissions without the connected account of the affiliate', async () => {
    const { affiliate, code } = await enrollAffiliate(service.baseUrl);
    await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    const customer = await signUpReferred(service.baseUrl, code);
    await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    await service.sql(`UPDATE affiliates SET connect_account_id = 'acct_real' WHERE code = $1`, [code]);
    await service.sql(
      `UPDATE commissions c SET paid_at = paid_at - interval '90 days', payable_at = payable_at - interval '90 days'
         FROM affiliates a WHERE a.account_id = c.affiliate_id AND a.code = $1`,
      [code],
    );
    await runJob({ service }, 'billing', 'payouts.run');
    await runDueTasks(service);
    const payouts = await service.sql(
      `SELECT p.status, p.connect_account_id FROM payouts p JOIN affiliates a ON a.account_id = p.affiliate_id WHERE a.code = $1`,
      [code],
    );
    expect(payouts).to.deep.equal([{ status: 'paid', connect_account_id: null }]);
  });

  it('enables payouts immediately in local keyless development, and links to the account page', async () => {
    const { affiliate } = await enrollAffiliate(service.baseUrl);
    const { status, body } = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    expect(status).to.equal(200);
    expect(Object.keys(body)).to.deep.equal(['url']);
    expect(new URL(body.url).origin).to.equal(service.baseUrl);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: true, connect_onboarded: true });
  });

  it('redirects a repeated onboarding link to the account page, and enables nothing', async () => {
    const { affiliate } = await enrollAffiliate(service.baseUrl);
    const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
    expect([again.status, again.headers.get('location')]).to.deep.equal([303, '/account/affiliate/']);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: false });
  });

  describe('a referral link', () => {
    it('sets a first-party cookie for 30 days, redirects to the sign-in, and counts the click', async () => {
      const { code } = await enrollAffiliate(service.baseUrl);
      const response = await request(service.baseUrl, 'GET', `/r/${code}`);
      expect([response.status, response.headers.get('location')]).to.deep.equal([303, '/sign-in']);
      const [pair = '', ...attributes] = (response.headers.getSetCookie()[0] ?? '').split('; ');
      expect(pair).to.match(new RegExp(`^referral=${code}\\.\\d+$`));
      expect(attributes).to.include.members(['path=/', 'samesite=lax', 'httponly']);
      const expires = Date.parse(attributes.find((text) => text.startsWith('expires='))?.slice(8) ?? '');
      expect((expires - Date.now()) / (1_000 * DAY_SECONDS)).to.be.within(29.9, 30.1);
      await eventually('counted', async () => (await clicks(code)) === 1);
    });

    it('counts all concurrent clicks on two processes in one row', async () => {
      const { code } = await enrollAffiliate(service.baseUrl);
      await Promise.all(
        Array.from({ length: 60 }, (_, i) => followReferralLink(service.baseUrls[i % 2] as string, code)),
      );
      await eventually('counted', async () => (await clicks(code)) === 60);
      expect(
        await service.sql(
          'SELECT 1 FROM referral_clicks c JOIN affiliates a ON a.account_id = c.affiliate_id WHERE code = $1',
          [code],
        ),
      ).to.have.length(1);
    });

    it('redirects without a cookie if it is unknown', async () => {
      for (const code of ['abc', 'bcdfghjkmnpq', 'x'.repeat(300), '%00', "'--"]) {
        expect(await followReferralLink(service.baseUrl, code), code).to.equal(undefined);
      }
    });

    it('sets no cookie for its own affiliate, and redirects to the account page', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl);
      const response = await request(service.baseUrl, 'GET', `/r/${code}`, { headers: { cookie: affiliate.cookie } });
      expect([response.status, response.headers.get('location')]).to.deep.equal([303, '/']);
      expect(response.headers.getSetCookie()).to.deep.equal([]);
    });
  });

  describe('attribution', () => {
    it('attributes a new account to the last link that the visitor opened', async () => {
      const [first, second] = [await enrollAffiliate(service.baseUrl), await enrollAffiliate(service.baseUrl)];
      const cookie = await followReferralLink(service.baseUrl, first.code);
      await signUpCustomer(service.baseUrl, await followReferralLink(service.baseUrl, second.code, cookie));
      expect(await getStats(first.affiliate)).to.include({ referrals: 0 });
      expect(await getStats(second.affiliate)).to.include({ referrals: 1, active: 0 });
      expect((await getAffiliateStatus(second.affiliate)).recent.at(-1)).to.include({ referrals: 1 });
    });

    it('counts clicks of the last 30 days, and no click that is older or in the future', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl);
      const at = (daysAgo: number) => `referral=${code}.${Math.floor(Date.now() / 1_000 - daysAgo * DAY_SECONDS)}`;
      for (const daysAgo of [30.01, 31, 400, -1]) await signUpCustomer(service.baseUrl, at(daysAgo));
      for (const cookie of [
        'referral=',
        `referral=${code}`,
        `referral=${code}.`,
        `referral=${code}.x`,
        'referral=bcdfghjkmnpq.1',
      ])
        await signUpCustomer(service.baseUrl, cookie);
      expect(await getStats(affiliate)).to.include({ referrals: 0 });
      await signUpCustomer(service.baseUrl, at(29.9));
      expect(await getStats(affiliate)).to.include({ referrals: 1 });
    });

    it('never attributes an existing account', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl);
      const customer = await signUpCustomer(service.baseUrl);
      await signUpCustomer(service.baseUrl, await followReferralLink(service.baseUrl, code), customer.email);
      await signUpCustomer(
        service.baseUrl,
        await followReferralLink(service.baseUrl, code),
        customer.email.toUpperCase(),
      );
      expect(await getStats(affiliate)).to.include({ referrals: 0 });
    });

    it('never attributes affiliates to themselves, recognized by browser or mailbox', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl, 'ada@example.com');
      const cookie = await followReferralLink(service.baseUrl, code);
      await signUpCustomer(service.baseUrl, `${cookie}; ${affiliate.cookie}`, 'second@example.net');
      const again = await signUpCustomer(service.baseUrl, undefined, 'ada@example.com');
      await signUpCustomer(service.baseUrl, await followReferralLink(service.baseUrl, code), 'ada+2@example.com');
      expect(await getStats(again)).to.include({ referrals: 0 });
      await signUpCustomer(service.baseUrl, await followReferralLink(service.baseUrl, code), 'grace@example.com');
      expect(await getStats(again)).to.include({ referrals: 1 });
    });

    it('happens once for concurrent sign-ins of one address on two processes', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl);
      const cookie = await followReferralLink(service.baseUrl, code);
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          request(service.baseUrls[index % 2] as string, 'POST', '/authentication/dev/sign-in/', {
            body: { email: 'many@example.com' },
            headers: { cookie: cookie as string },
          }),
        ),
      );
      expect(await getStats(affiliate)).to.include({ referrals: 1 });
    });

    it('works with the form of the sign-in page', async () => {
      const { affiliate, code } = await enrollAffiliate(service.baseUrl);
      const cookie = (await followReferralLink(service.baseUrl, code)) as string;
      const response = await request(service.baseUrl, 'POST', '/sign-in', {
        rawBody: 'email=form%40example.com',
        headers: { cookie, origin: service.baseUrl, 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect(response.status).to.equal(303);
      expect(await getStats(affiliate)).to.include({ referrals: 1 });
    });
  });

  it('earns 30 % of a keyless checkout once, as pending', async () => {
    const { affiliate, code } = await enrollAffiliate(service.baseUrl);
    const customer = await signUpReferred(service.baseUrl, code);
    for (const plan of ['starter', 'pro']) {
      expect((await customer.request('POST', '/api/billing/checkout/', { body: { plan } })).status).to.equal(200);
    }
    const earned = (14_400 * 30) / 100;
    const { stats: sums, recent } = await getAffiliateStatus(affiliate);
    expect(sums).to.deep.equal({
      referrals: 1,
      active: 1,
      lifetime_earnings_cents: earned,
      pending_cents: earned,
      paid_cents: 0,
    });
    expect(recent.at(-1)).to.include({ referrals: 1, commission_cents: earned });
    await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    expect((await getStats(affiliate)).lifetime_earnings_cents).to.equal(earned);
  });
});
