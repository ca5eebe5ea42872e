import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import type { FakeOpenIdProvider } from '../fakes/identity/openid.ts';
import { createPerson } from '../fakes/identity/person.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { getPageError, type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import type { TestService } from '../harness/testService.ts';

/** Builds the claims of an ID token for the latest sign-in, about an unknown person. */
function buildClaims(fake: FakeOpenIdProvider, changes: JWTPayload): JWTPayload {
  const seconds = Math.floor(Date.now() / 1_000);
  return {
    iss: fake.url,
    aud: 'google-client',
    sub: 'victim',
    email: 'victim@example.com',
    email_verified: true,
    iat: seconds,
    exp: seconds + 60,
    nonce: fake.authorizationRequests.at(-1)?.get('nonce') ?? '',
    ...changes,
  };
}

describe('a sign-in that returns from a provider', () => {
  let providers: ProviderSignIn;
  let service: TestService;
  before(async () => {
    providers = await startProviderSignIn();
    ({ service } = providers);
  });
  after(() => providers.stop());
  afterEach(() => providers.resetFakes());

  describe('the callback of a provider', () => {
    it('is accepted once', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const callback = await providers.signInUpToCallback(visitor);
      expect((await visitor.navigate(callback)).url.pathname).to.equal('/account/');
      expect(getPageError((await visitor.navigate(callback)).url)).to.deep.equal(['/sign-in', 'expired']);
    });

    it('is accepted once when it arrives many times at once', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const callback = await providers.signInUpToCallback(visitor);
      const answers = await Promise.all(Array.from({ length: 10 }, () => visitor.request(callback)));
      const locations = answers.map(({ headers }) => headers.get('location'));
      expect(locations.filter((location) => location === '/account/').length).to.equal(1);
      expect(locations.filter((location) => location === '/sign-in?problem=expired').length).to.equal(9);
    });

    it('is accepted only in the browser that started it, which can still complete it', async () => {
      providers.setPerson(createPerson());
      const [mine, another, third] = [new HttpBrowser(), new HttpBrowser(), new HttpBrowser()];
      const callback = await providers.signInUpToCallback(mine);
      await another.request(providers.startUrl('google'));
      for (const thief of [another, third]) {
        const { headers } = await thief.request(callback);
        expect(headers.get('location')).to.equal('/sign-in?problem=expired');
        expect(thief.cookie('token')).to.equal(undefined);
      }
      expect((await mine.navigate(callback)).url.pathname).to.equal('/account/');
    });

    it('is accepted only from the provider that it was started with', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      await visitor.request(providers.startUrl('github'));
      const callback = await providers.signInUpToCallback(visitor);
      callback.pathname = '/authentication/social/github/callback';
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it('is accepted for ten minutes', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const callback = await providers.signInUpToCallback(visitor);
      const [{ seconds }] = await service.sql(
        'SELECT extract(epoch FROM max(expires_at) - now()) AS seconds FROM sign_in_attempts',
      );
      expect(Number(seconds)).to.be.within(590, 600);
      await service.sql("UPDATE sign_in_attempts SET expires_at = now() - interval '1 second'");
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it('is rejected with another state or without one', async () => {
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const callback = await providers.signInUpToCallback(visitor);
      for (const state of ['', 'x', '0'.repeat(64)]) {
        const forged = new URL(callback);
        forged.searchParams.set('state', state);
        expect((await visitor.request(forged)).headers.get('location')).to.equal('/sign-in?problem=expired');
      }
      callback.searchParams.delete('state');
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it("is rejected with another user's code, which does not match the verifier", async () => {
      providers.setPerson(createPerson());
      const theirs = await providers.signInUpToCallback(new HttpBrowser());
      providers.setPerson(createPerson());
      const visitor = new HttpBrowser();
      const mine = await providers.signInUpToCallback(visitor);
      mine.searchParams.set('code', theirs.searchParams.get('code') ?? '');
      expect((await visitor.request(mine)).headers.get('location')).to.equal('/sign-in?problem=rejected');
      expect(visitor.cookie('token')).to.equal(undefined);
    });

    const forgeries: [string, (token: string) => Promise<string> | string][] = [
      [
        'with the nonce of another sign-in',
        () => providers.google.fake.sign(buildClaims(providers.google.fake, { nonce: 'another' })),
      ],
      ['without a nonce', () => providers.google.fake.sign(buildClaims(providers.google.fake, { nonce: undefined }))],
      [
        'for another audience',
        () => providers.google.fake.sign(buildClaims(providers.google.fake, { aud: 'another-client' })),
      ],
      [
        'of another issuer',
        () => providers.google.fake.sign(buildClaims(providers.google.fake, { iss: 'https://evil.example' })),
      ],
      [
        'that has expired',
        () => providers.google.fake.sign(buildClaims(providers.google.fake, { exp: 1_000_000_000 })),
      ],
      ['with an invalid signature', (token) => `${token.slice(0, -8)}AAAAAAAA`],
      [
        'without a signature',
        () =>
          `${[{ alg: 'none' }, buildClaims(providers.google.fake, {})].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`,
      ],
    ];
    for (const [description, forge] of forgeries) {
      it(`is rejected with an ID token ${description}`, async () => {
        providers.setPerson(createPerson());
        providers.google.fake.onToken = async (answer) => ({ ...answer, id_token: await forge(answer.id_token) });
        const { visitor, page } = await providers.signIn('google');
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'rejected']);
        expect(await providers.readUser(visitor)).to.equal(null);
      });
    }

    it('is accepted with an unchanged ID token that the test has signed', async () => {
      providers.setPerson(createPerson());
      const email = createPerson().email;
      providers.google.fake.onToken = async (answer) => ({
        ...answer,
        id_token: await providers.google.fake.sign(buildClaims(providers.google.fake, { sub: email, email })),
      });
      expect((await providers.readUser((await providers.signIn('google')).visitor)).email).to.equal(email);
    });

    it('is accepted from Apple as a form post of another site', async () => {
      providers.setPerson(createPerson());
      const { visitor } = await providers.signIn('apple');
      expect(visitor.redirects.some((address) => address.endsWith('/authentication/social/apple/callback'))).to.equal(
        true,
      );
      expect(await providers.readUser(visitor)).to.not.equal(null);
    });
  });

  describe('return_to', () => {
    const good = [
      '/account/',
      '/authorize?client_id=a&state=%2F%2Fx&scope=svc%3Aread',
      '/sign-in?x=%5C',
      '/a/%2e%2e%2fb',
    ];
    const bad = [
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/\t/evil.example',
      '/\n/evil.example',
      '\t//evil.example',
      ' //evil.example',
      '/.//evil.example',
      '/x/..//evil.example',
      '/%2e//evil.example',
      'https://evil.example/',
      'https:evil.example',
      'evil.example',
      'javascript:alert(1)',
      '@evil.example',
      '',
      `/${'x'.repeat(5_000)}`,
    ];

    for (const returnTo of good) {
      it(`redirects to ${returnTo}`, async () => {
        providers.setPerson(createPerson());
        const visitor = new HttpBrowser();
        const { headers } = await visitor.request(await providers.signInUpToCallback(visitor, 'google', returnTo));
        const location = new URL(headers.get('location') ?? '', service.baseUrl);
        expect(location.href).to.equal(new URL(returnTo, service.baseUrl).href);
      });
    }

    for (const returnTo of bad) {
      it(`redirects to the account page in place of ${JSON.stringify(returnTo.slice(0, 40))}`, async () => {
        providers.setPerson(createPerson());
        const visitor = new HttpBrowser();
        const { headers } = await visitor.request(await providers.signInUpToCallback(visitor, 'github', returnTo));
        expect(headers.get('location')).to.equal('/account/');
        // Visitors with a session are redirected at once.
        const page = await visitor.request(`${service.baseUrl}/sign-in?return_to=${encodeURIComponent(returnTo)}`);
        expect(page.headers.get('location')).to.equal('/account/');
      });
    }

    it('is ignored when it is given twice', async () => {
      const page = await new HttpBrowser().request(`${service.baseUrl}/sign-in?return_to=/a&return_to=//evil.example`);
      expect(page.text).to.include('return_to=%2Faccount%2F').and.to.not.include('evil');
    });
  });
});
