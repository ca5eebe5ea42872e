import { expect } from 'chai';
import { TestCustomer } from '../harness/apiClient.ts';
import { createPerson } from '../fakes/identity/person.ts';
import { startFakeApple, startFakeGoogle } from '../fakes/identity/providers.ts';
import { getPageWithForm } from '../harness/accountForms.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

describe('referral links and sign-in providers', () => {
  let service: TestService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let apple: Awaited<ReturnType<typeof startFakeApple>>;
  before(async () => {
    [google, apple] = await Promise.all([startFakeGoogle(), startFakeApple()]);
    service = await startTestService({ workers: 0, env: { ...google.env, ...apple.env } });
    await Promise.all([google.serve(service.baseUrl), apple.serve(service.baseUrl)]);
  });
  after(async () => {
    await service?.stop();
    await google?.fake.stop();
    await apple?.fake.stop();
  });

  const signIn = async (visitor: HttpBrowser, provider: 'google' | 'apple') => {
    const fake = provider === 'google' ? google.fake : apple.fake;
    fake.person = createPerson();
    const visit = await visitor.navigate(`${service.baseUrl}/authentication/social/${provider}/start`);
    expect(visit.url.pathname).to.equal('/account/');
    return visit;
  };
  const press = async (visitor: HttpBrowser, path: string) => {
    const { text } = await visitor.request(`${service.baseUrl}${getPageWithForm(path)}`);
    const { fields } = findForm(text, path);
    return visitor.submitForm(`${service.baseUrl}${path}`, fields, service.baseUrl);
  };

  it('attribute sign-ups with a provider to the affiliate, even if the callback has no cookie', async () => {
    const owner = new HttpBrowser();
    await signIn(owner, 'google');
    expect((await press(owner, '/account/affiliate/')).headers.get('location')).to.equal(
      '/account/affiliate/?done=enrolled',
    );
    const page = await owner.navigate(`${service.baseUrl}/account/affiliate/`);
    const url = /http:\/\/[^<\s]+\/r\/[a-z0-9]{12}/.exec(page.text)?.[0] as string;
    expect((await press(owner, '/account/payouts/')).headers.get('location')).to.equal(
      '/account/affiliate/?done=payouts',
    );

    for (const provider of ['google', 'apple'] as const) {
      const visitor = new HttpBrowser();
      expect((await visitor.request(url)).headers.get('location')).to.equal('/sign-in');
      // A repeated sign-in is not a sign-up.
      const visit = await signIn(visitor, provider);
      expect(visit.text).to.include('Affiliate');
    }
    // The callback of Apple is a cross-site form post, without the cookie.
    const forgetful = new HttpBrowser();
    await forgetful.request(url);
    apple.fake.person = createPerson();
    const visit = await forgetful.navigate(`${service.baseUrl}/authentication/social/apple/start`, (next) => {
      if (next.pathname.endsWith('/callback'))
        forgetful.cookies = forgetful.cookies.filter(({ name }) => name !== 'referral');
      return false;
    });
    expect(visit.url.pathname).to.equal('/account/');

    const affiliate = new TestCustomer(service.baseUrl, '', `token=${owner.cookie('token')}`, '');
    const { status, body } = await affiliate.requestWithSession('GET', '/api/affiliate/status/');
    expect(status).to.equal(200);
    expect(body.stats).to.include({ referrals: 3, active: 0 });
    expect(body).to.include({ payout_enabled: true, connect_onboarded: true });
  });

  it('do not attribute a sign-up to the affiliate who is signed in in that browser', async () => {
    const owner = new HttpBrowser();
    await signIn(owner, 'google');
    await press(owner, '/account/affiliate/');
    const page = await owner.navigate(`${service.baseUrl}/account/affiliate/`);
    const url = /http:\/\/[^<\s]+\/r\/[a-z0-9]{12}/.exec(page.text)?.[0] as string;
    const session = owner.cookies.filter(({ name }) => name === 'token');
    owner.cookies = owner.cookies.filter(({ name }) => name !== 'token');
    await owner.request(url);
    expect(owner.cookie('referral')).to.be.a('string');
    owner.cookies.push(...session);
    await signIn(owner, 'apple');
    const rows = await service.sql(
      `SELECT 1 FROM referrals r JOIN affiliates a ON a.account_id = r.affiliate_id WHERE a.code = $1`,
      [url.split('/').at(-1)],
    );
    expect(rows).to.deep.equal([]);
  });
});
