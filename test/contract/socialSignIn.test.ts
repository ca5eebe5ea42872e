import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { getPageError, type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import { eventually, type TestService } from '../harness/testService.ts';

describe('sign-in with a provider', () => {
  let providers: ProviderSignIn;
  let service: TestService;
  before(async () => {
    providers = await startProviderSignIn();
    ({ service } = providers);
  });
  after(() => providers.stop());
  afterEach(() => providers.resetFakes());

  it('is listed by social config', async () => {
    const { body } = await service.request('GET', '/authentication/social/config/');
    expect(body).to.deep.equal({ google: true, apple: true, github: true });
  });

  it('replaces local sign-in when a provider is configured', async () => {
    const json = await service.request('POST', '/authentication/dev/sign-in/', { body: { email: 'a@example.com' } });
    expect(json.status).to.equal(404);
    const form = await new HttpBrowser().submitForm(`${service.baseUrl}/sign-in`, { email: 'a@example.com' });
    expect(form.status).to.equal(404);
    const { text } = await new HttpBrowser().request(`${service.baseUrl}/sign-in`);
    expect(text).to.not.include('name="email"');
    for (const name of ['Google', 'Apple', 'GitHub']) expect(text).to.include(`Continue with ${name}`);
  });

  for (const provider of ['google', 'apple', 'github'] as const) {
    describe(provider, () => {
      it('creates an account with the verified address and the first name, and signs in', async () => {
        const person = providers.setPerson(createPerson({ firstName: 'Grace' }));
        const { visitor, page } = await providers.signIn(provider);
        expect([page.url.pathname, page.status]).to.deep.equal(['/account/', 200]);
        expect(page.text).to.include(person.email);
        expect(await providers.readUser(visitor)).to.include({
          email: person.email,
          first_name: 'Grace',
          social_provider: provider,
        });
      });

      it('finds the account by the subject after the address has changed', async () => {
        const person = providers.setPerson(createPerson());
        const { visitor } = await providers.signIn(provider);
        providers.setPerson({ ...person, email: `other-${person.email}`, isVerified: false });
        const again = await providers.signIn(provider);
        expect((await providers.readUser(again.visitor)).uuid).to.equal((await providers.readUser(visitor)).uuid);
        expect((await providers.readUser(again.visitor)).email).to.equal(person.email);
      });

      it('rejects an unverified address and creates nothing', async () => {
        const person = providers.setPerson(createPerson({ isVerified: false }));
        const { visitor, page } = await providers.signIn(provider);
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unverified']);
        expect(page.text).to.include('has not verified your e-mail address');
        expect(await providers.readUser(visitor)).to.equal(null);
        expect(await service.sql('SELECT 1 FROM accounts WHERE email = $1', [person.email])).to.deep.equal([]);
      });

      it('returns to the sign-in page with the return path when the user cancels', async () => {
        providers.setPerson(createPerson());
        for (const fake of providers.fakes) fake.behavior = 'refuse';
        const { page } = await providers.signIn(provider, new HttpBrowser(), '/account/?checkout=success');
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'denied']);
        expect(page.url.searchParams.get('return_to')).to.equal('/account/?checkout=success');
        expect(page.text).to.include('You canceled the sign-in');
      });
    });
  }

  describe('the authorization request', () => {
    it('contains PKCE with S256, and a new state and nonce each time', async () => {
      providers.setPerson(createPerson());
      await providers.signIn('google');
      await providers.signIn('google');
      const [first, second] = providers.google.fake.authorizationRequests.slice(-2) as [
        URLSearchParams,
        URLSearchParams,
      ];
      expect(Object.fromEntries(first)).to.include({
        client_id: 'google-client',
        redirect_uri: `${service.baseUrl}/authentication/social/google/callback`,
        response_type: 'code',
        code_challenge_method: 'S256',
        scope: 'openid email profile',
      });
      for (const name of ['state', 'nonce', 'code_challenge']) {
        expect(first.get(name)).to.match(/^\S{43,64}$/);
        expect(first.get(name)).to.not.equal(second.get(name));
      }
    });

    it('asks Apple for a form post, and authenticates with a newly signed secret each time', async () => {
      providers.setPerson(createPerson());
      const { page } = await providers.signIn('apple');
      expect(page.url.pathname).to.equal('/account/');
      expect(providers.apple.fake.authorizationRequests.at(-1)?.get('response_mode')).to.equal('form_post');
    });

    it('fetches the metadata of the provider once', async () => {
      providers.setPerson(createPerson());
      for (let times = 0; times < 3; times += 1) await providers.signIn('google');
      expect(providers.google.fake.requests.filter((path) => path.startsWith('/.well-known')).length).to.equal(1);
    });
  });

  describe('the session', () => {
    it('is a new one, and ends the previous session of the browser and no other', async () => {
      providers.setPerson(createPerson());
      const elsewhere = (await providers.signIn('google')).visitor;
      const { visitor } = await providers.signIn('google');
      const before = visitor.cookie('token') as string;
      await providers.signIn('google', visitor);
      const after = visitor.cookie('token') as string;
      expect(after).to.not.equal(before);
      visitor.cookies = [{ name: 'token', value: before, path: '/' }];
      expect(await providers.readUser(visitor)).to.equal(null);
      visitor.cookies = [{ name: 'token', value: after, path: '/' }];
      expect(await providers.readUser(visitor)).to.not.equal(null);
      expect(await providers.readUser(elsewhere)).to.not.equal(null);
    });

    it('never adopts a token that the browser had before the sign-in', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      visitor.cookies.push({ name: 'token', value: 'f'.repeat(64), path: '/' });
      await providers.signIn('google', visitor);
      expect(visitor.cookie('token')).to.match(/^[0-9a-f]{64}$/);
      expect(visitor.cookie('token')).to.not.equal('f'.repeat(64));
    });

    it('has a host-bound cookie over https, and a cross-site state cookie for Apple', async () => {
      const { baseUrl } = await service.startApi({ BASE_URL: 'https://app.localhost' });
      const getCookieAttributes = async (provider: string) => {
        const { headers } = await new HttpBrowser().request(`${baseUrl}/authentication/social/${provider}/start`);
        return headers.getSetCookie().join('\n').toLowerCase();
      };
      expect(await getCookieAttributes('google')).to.match(
        /^__host-sign-in-google=[0-9a-f]{64}; path=\/; expires=[^;]+; samesite=lax; secure; httponly$/,
      );
      expect(await getCookieAttributes('apple')).to.match(
        /^__host-sign-in-apple=[0-9a-f]{64}; path=\/; expires=[^;]+; samesite=none; secure; httponly$/,
      );
    });

    it('can be started in two tabs at once and completed in both', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const first = await providers.signInUpToCallback(visitor);
      const second = await providers.signInUpToCallback(visitor);
      expect((await visitor.navigate(first)).url.pathname).to.equal('/account/');
      expect((await visitor.navigate(second)).url.pathname).to.equal('/account/');
    });
  });

  it('returns a 404 page for an unknown provider', async () => {
    for (const path of ['facebook/start', 'facebook/callback', 'constructor/start']) {
      const { status, headers, text } = await new HttpBrowser().request(
        `${service.baseUrl}/authentication/social/${path}`,
      );
      expect(status).to.equal(404);
      expect(headers.get('content-type')).to.include('text/html');
      expect(text).to.include('This sign-in method is not available.');
    }
  });

  it('is deleted by a worker when it was never completed', async () => {
    await new HttpBrowser().request(providers.startUrl('google'));
    await service.sql("UPDATE sign_in_attempts SET expires_at = now() - interval '1 second'");
    await new HttpBrowser().request(providers.startUrl('github'));
    await service.startWorker();
    const left = () => service.sql('SELECT provider FROM sign_in_attempts');
    await eventually('the old attempts are gone', async () => (await left()).length === 1);
    expect(await left()).to.deep.equal([{ provider: 'github' }]);
  });
});
