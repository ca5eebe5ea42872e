import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { startFakeGoogle } from '../fakes/identity/providers.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { getPageError, type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import type { TestService } from '../harness/testService.ts';

describe('an unavailable provider of sign-in', () => {
  let providers: ProviderSignIn;
  let service: TestService;
  before(async () => {
    providers = await startProviderSignIn({ SIGN_IN_TIMEOUT_MS: '1000' });
    ({ service } = providers);
  });
  after(() => providers.stop());
  afterEach(() => providers.resetFakes());

  it('is reported within the timeout, and its metadata is requested again until it responds', async () => {
    const fresh = await startFakeGoogle();
    const { baseUrl } = await service.startApi({ GOOGLE_ISSUER: fresh.fake.url, SIGN_IN_TIMEOUT_MS: '1000' });
    await fresh.serve(baseUrl);
    fresh.fake.person = createPerson();
    for (const how of ['hang', 'garbage', 'error', 'drop'] as const) {
      fresh.fake.misbehaviour.set('/.well-known', how);
      const began = performance.now();
      const page = await new HttpBrowser().navigate(
        `${baseUrl}/authentication/social/google/start?return_to=%2Fsign-in`,
      );
      expect(performance.now() - began, how).to.be.below(scaleTimeout(4_000));
      expect(page.status, how).to.equal(503);
      expect(page.headers.get('retry-after')).to.equal('60');
      expect(page.text).to.include('is not responding at the moment').and.to.include('Continue with GitHub');
    }
    fresh.fake.misbehaviour.clear();
    const { text } = await new HttpBrowser().navigate(`${baseUrl}/authentication/social/google/start`);
    expect(text).to.include(fresh.fake.person.email);
    await fresh.fake.stop();
  });

  for (const how of ['hang', 'garbage', 'error', 'drop'] as const) {
    it(`is reported within the timeout: ${how} when the code is exchanged`, async () => {
      providers.setPerson(createPerson());
      providers.google.fake.misbehaviour.set('/token', how);
      providers.github.fake.misbehaviour.set('/login/oauth/access_token', how);
      for (const provider of ['google', 'github'] as const) {
        const began = performance.now();
        const visitor = new HttpBrowser();
        const page = await visitor.navigate(providers.startUrl(provider, '/sign-in?x=1'));
        expect(performance.now() - began).to.be.below(scaleTimeout(4_000));
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unavailable']);
        expect(page.url.searchParams.get('return_to')).to.equal('/sign-in?x=1');
        expect(visitor.cookie('token')).to.equal(undefined);
      }
    });

    it(`is reported within the timeout: ${how} when GitHub returns the user or the addresses`, async () => {
      for (const path of ['/api/v3/user', '/api/v3/user/emails']) {
        providers.setPerson(createPerson());
        providers.github.fake.misbehaviour.clear();
        providers.github.fake.misbehaviour.set(path, how);
        const page = await new HttpBrowser().navigate(providers.startUrl('github'));
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unavailable']);
      }
    });
  }

  it('is logged without secrets', async () => {
    const visitor = new HttpBrowser();
    providers.setPerson(createPerson());
    const callback = await providers.signInUpToCallback(visitor);
    providers.google.fake.misbehaviour.set('/token', 'error');
    await visitor.request(callback);
    await service.apis[0]?.waitForLog('sign-in failed');
    const logs = service.apis[0]?.logs() ?? '';
    for (const name of ['code', 'state']) expect(logs).to.not.include(callback.searchParams.get(name));
    expect(logs).to.not.include('google-secret');
  });
});
