import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import type { FakeOpenIdProvider } from '../fakes/identity/openid.ts';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeApple, startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

type ProviderName = 'google' | 'apple' | 'github';

function getPageError(url: URL): (string | null)[] {
  return [url.pathname, url.searchParams.get('problem')];
}

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

describe('sign-in with a provider', () => {
  let service: TestService;
  /** API process with a short timeout for providers. */
  let hasty: { baseUrl: string };
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let apple: Awaited<ReturnType<typeof startFakeApple>>;
  let github: Awaited<ReturnType<typeof startFakeGitHub>>;
  before(async () => {
    [google, apple, github] = await Promise.all([startFakeGoogle(), startFakeApple(), startFakeGitHub()]);
    service = await startTestService({
      workers: 0,
      // Twelve concurrent sign-ins of one person wait for each other on a busy machine.
      env: { DATABASE_TIMEOUT_MS: '5000', ...google.env, ...apple.env, ...github.env },
    });
    hasty = await service.startApi({ SIGN_IN_TIMEOUT_MS: '1000' });
    await Promise.all([google.serve(service.baseUrl, hasty.baseUrl), apple.serve(service.baseUrl)]);
  });
  after(async () => {
    await service.stop();
    await Promise.all([google, apple, github].map(({ fake }) => fake.stop()));
  });
  afterEach(() => {
    for (const { fake } of [google, apple, github]) {
      fake.behavior = 'sign in';
      fake.misbehaviour.clear();
    }
    github.fake.addresses = undefined;
    google.fake.onToken = (answer) => answer;
    google.fake.conformsIdTokenClaims = false;
  });

  const startPath = (provider: string, returnTo?: string, baseUrl = service.baseUrl) =>
    `${baseUrl}/authentication/social/${provider}/start${returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`}`;

  const comes = (person: FakePerson) => {
    for (const { fake } of [google, apple, github]) fake.person = person;
    return person;
  };

  /** Signs in with a provider and returns the page of the service that follows. */
  const signIn = async (provider: ProviderName, visitor = new HttpBrowser(), returnTo?: string) => ({
    visitor,
    page: await visitor.navigate(startPath(provider, returnTo)),
  });

  const me = async (visitor: HttpBrowser) => {
    const { status, text } = await visitor.request(`${service.baseUrl}/authentication/me/`);
    return status === 200 ? JSON.parse(text).user : null;
  };

  /** Signs in at the provider and returns the callback URL without opening it. */
  const upToCallback = async (visitor: HttpBrowser, provider: ProviderName = 'google', returnTo?: string) =>
    (await visitor.navigate(startPath(provider, returnTo), (next) => next.pathname.endsWith('/callback'))).url;

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
        const person = comes(createPerson({ firstName: 'Grace' }));
        const { visitor, page } = await signIn(provider);
        expect([page.url.pathname, page.status]).to.deep.equal(['/account/', 200]);
        expect(page.text).to.include(person.email);
        expect(await me(visitor)).to.include({ email: person.email, first_name: 'Grace', social_provider: provider });
      });

      it('finds the account by the subject after the address has changed', async () => {
        const person = comes(createPerson());
        const { visitor } = await signIn(provider);
        comes({ ...person, email: `other-${person.email}`, isVerified: false });
        const again = await signIn(provider);
        expect((await me(again.visitor)).uuid).to.equal((await me(visitor)).uuid);
        expect((await me(again.visitor)).email).to.equal(person.email);
      });

      it('rejects an unverified address and creates nothing', async () => {
        const person = comes(createPerson({ isVerified: false }));
        const { visitor, page } = await signIn(provider);
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unverified']);
        expect(page.text).to.include('has not verified your e-mail address');
        expect(await me(visitor)).to.equal(null);
        expect(await service.sql('SELECT 1 FROM accounts WHERE email = $1', [person.email])).to.deep.equal([]);
      });

      it('returns to the sign-in page with the return path when the user cancels', async () => {
        comes(createPerson());
        for (const { fake } of [google, apple, github]) fake.behavior = 'refuse';
        const { page } = await signIn(provider, new HttpBrowser(), '/account/?checkout=success');
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'denied']);
        expect(page.url.searchParams.get('return_to')).to.equal('/account/?checkout=success');
        expect(page.text).to.include('You canceled the sign-in');
      });
    });
  }

  describe('accounts', () => {
    it('are not opened by another provider with the same verified address, in any case of letters', async () => {
      const person = comes(createPerson());
      await signIn('google');
      for (const provider of ['apple', 'github'] as const) {
        comes({ ...createPerson(), email: person.email.toUpperCase() });
        const { visitor, page } = await signIn(provider, new HttpBrowser(), '/account/?x=1');
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'other_provider']);
        const title = provider === 'apple' ? 'Apple' : 'GitHub';
        expect(page.text).to.include(`Sign in with Google first, then link ${title}`);
        expect(page.url.searchParams.get('return_to')).to.equal('/account/?x=1');
        expect(await me(visitor)).to.equal(null);
      }
      const rows = await service.sql(
        'SELECT provider FROM identities i JOIN accounts a ON a.id = i.account_id WHERE a.email = $1',
        [person.email],
      );
      expect(rows).to.deep.equal([{ provider: 'google' }]);
    });

    it('are not opened by another user of the same provider who has taken over the address', async () => {
      const owner = comes(createPerson());
      await signIn('google');
      comes(createPerson({ email: owner.email }));
      const { visitor, page } = await signIn('google');
      expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'taken']);
      expect(await me(visitor)).to.equal(null);
    });

    it('are separated by issuer: the same subject of another issuer is another user', async () => {
      const owner = comes(createPerson());
      const first = await me((await signIn('google')).visitor);
      await service.sql(`UPDATE identities SET issuer = 'https://before.example' WHERE subject = $1`, [owner.subject]);
      comes({ ...createPerson(), subject: owner.subject });
      const second = await me((await signIn('google')).visitor);
      expect(second.uuid).to.not.equal(first.uuid);
    });

    it('from local sign-in lose all earlier access when the owner signs in with a provider', async () => {
      const owner = comes(createPerson());
      const [{ id }] = await service.sql(
        `INSERT INTO accounts (uuid, email, social_provider, created_at, key_count, active_key_count)
         VALUES (gen_random_uuid(), $1, 'dev', now(), 1, 1) RETURNING id`,
        [owner.email],
      );
      await service.sql(
        `INSERT INTO sessions (token_hash, uuid, account_id, created_at, last_used_at, expires_at)
         VALUES (sha256('left over'), gen_random_uuid(), $1, now(), now(), now() + interval '1 day')`,
        [id],
      );
      await service.sql(
        `INSERT INTO api_keys (key_hash, uuid, account_id, number, name, prefix, created_at)
         VALUES (sha256($2), gen_random_uuid(), $1, 1, 'left over', 'svc_', now())`,
        [id, Buffer.from(owner.email)],
      );
      expect((await me((await signIn('google')).visitor)).email).to.equal(owner.email);
      const left = await service.sql(
        `SELECT (SELECT count(*) FROM sessions WHERE account_id = $1)::int AS sessions,
                (SELECT count(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL)::int AS keys,
                active_key_count, social_provider FROM accounts WHERE id = $1`,
        [id],
      );
      expect(left).to.deep.equal([{ sessions: 1, keys: 0, active_key_count: 0, social_provider: 'google' }]);
    });

    it('of another user are not linked through an unverified address', async () => {
      const owner = comes(createPerson());
      await signIn('google');
      comes(createPerson({ email: owner.email, isVerified: false }));
      const { visitor, page } = await signIn('github');
      expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unverified']);
      expect(await me(visitor)).to.equal(null);
    });

    it('use only the primary address of GitHub, not another verified one', async () => {
      const owner = comes(createPerson());
      await signIn('google');
      comes(createPerson());
      github.fake.addresses = [
        { email: owner.email, primary: false, verified: true },
        { email: 'primary@example.com', primary: true, verified: false },
      ];
      expect(getPageError((await signIn('github')).page.url)).to.deep.equal(['/sign-in', 'unverified']);
    });

    it('are created once when a user signs in for the first time in many windows at once', async () => {
      const person = comes(createPerson());
      const ends = await Promise.all(Array.from({ length: 12 }, () => signIn('google')));
      for (const { page } of ends) expect(page.url.pathname + page.url.search).to.equal('/account/');
      const uuids = await Promise.all(ends.map(async ({ visitor }) => (await me(visitor)).uuid));
      expect(new Set(uuids).size).to.equal(1);
      const [{ count }] = await service.sql('SELECT count(*) FROM identities WHERE email = $1', [person.email]);
      expect(Number(count)).to.equal(1);
    });

    it('have one provider when the first sign-ins with two providers are concurrent', async () => {
      const person = comes(createPerson());
      const ends = await Promise.all([signIn('google'), signIn('github'), signIn('google'), signIn('github')]);
      const [{ provider, count }] = await service.sql(
        'SELECT min(provider) AS provider, count(*)::int AS count FROM identities WHERE email = $1',
        [person.email],
      );
      expect(count).to.equal(1);
      for (const [index, { page }] of ends.entries()) {
        const isWinner = provider === (index % 2 === 0 ? 'google' : 'github');
        expect(page.url.pathname).to.equal(isWinner ? '/account/' : '/sign-in');
      }
    });

    it('are found when the provider returns the address only from its user info endpoint', async () => {
      const tacit = await startFakeGoogle();
      tacit.fake.conformsIdTokenClaims = true;
      const { baseUrl } = await service.startApi({ GOOGLE_ISSUER: tacit.fake.url });
      await tacit.serve(baseUrl);
      const person = createPerson();
      tacit.fake.person = person;
      const page = await new HttpBrowser().navigate(`${baseUrl}/authentication/social/google/start`);
      expect(page.text).to.include(person.email);
      expect(tacit.fake.requests).to.include('/me');
      await tacit.fake.stop();
    });

    it('accept only text as the first name from Apple', async () => {
      for (const user of [
        'no JSON',
        '[]',
        'null',
        '{"name":{"firstName":{"a":1}}}',
        `{"name":{"firstName":"${'x'.repeat(900)}\\u0000"}}`,
      ]) {
        comes(createPerson({ firstName: '' }));
        const visitor = new HttpBrowser();
        const page = await visitor.navigate(startPath('apple'), (next) => next.pathname.endsWith('/callback'));
        const fields = Object.fromEntries(
          [...page.text.matchAll(/name="(code|state|iss)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
            name,
            value,
          ]),
        );
        const back = await visitor.submitForm(`${service.baseUrl}/authentication/social/apple/callback`, {
          ...fields,
          user,
        });
        expect(back.headers.get('location')).to.equal('/account/');
        expect((await me(visitor)).first_name).to.match(/^x{0,200}$/);
      }
    });
  });

  describe('the authorization request', () => {
    it('contains PKCE with S256, and a new state and nonce each time', async () => {
      comes(createPerson());
      await signIn('google');
      await signIn('google');
      const [first, second] = google.fake.authorizationRequests.slice(-2) as [URLSearchParams, URLSearchParams];
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
      comes(createPerson());
      const { page } = await signIn('apple');
      expect(page.url.pathname).to.equal('/account/');
      expect(apple.fake.authorizationRequests.at(-1)?.get('response_mode')).to.equal('form_post');
    });

    it('fetches the metadata of the provider once', async () => {
      comes(createPerson());
      for (let times = 0; times < 3; times += 1) await signIn('google');
      expect(google.fake.requests.filter((path) => path.startsWith('/.well-known')).length).to.equal(1);
    });
  });

  describe('the callback of a provider', () => {
    it('is accepted once', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      const callback = await upToCallback(visitor);
      expect((await visitor.navigate(callback)).url.pathname).to.equal('/account/');
      expect(getPageError((await visitor.navigate(callback)).url)).to.deep.equal(['/sign-in', 'expired']);
    });

    it('is accepted once when it arrives many times at once', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      const callback = await upToCallback(visitor);
      const answers = await Promise.all(Array.from({ length: 10 }, () => visitor.request(callback)));
      const locations = answers.map(({ headers }) => headers.get('location'));
      expect(locations.filter((location) => location === '/account/').length).to.equal(1);
      expect(locations.filter((location) => location === '/sign-in?problem=expired').length).to.equal(9);
    });

    it('is accepted only in the browser that started it, which can still complete it', async () => {
      comes(createPerson());
      const [mine, another, third] = [new HttpBrowser(), new HttpBrowser(), new HttpBrowser()];
      const callback = await upToCallback(mine);
      await another.request(startPath('google'));
      for (const thief of [another, third]) {
        const { headers } = await thief.request(callback);
        expect(headers.get('location')).to.equal('/sign-in?problem=expired');
        expect(thief.cookie('token')).to.equal(undefined);
      }
      expect((await mine.navigate(callback)).url.pathname).to.equal('/account/');
    });

    it('is accepted only from the provider that it was started with', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      await visitor.request(startPath('github'));
      const callback = await upToCallback(visitor);
      callback.pathname = '/authentication/social/github/callback';
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it('is accepted for ten minutes', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      const callback = await upToCallback(visitor);
      const [{ seconds }] = await service.sql(
        'SELECT extract(epoch FROM max(expires_at) - now()) AS seconds FROM sign_in_attempts',
      );
      expect(Number(seconds)).to.be.within(590, 600);
      await service.sql("UPDATE sign_in_attempts SET expires_at = now() - interval '1 second'");
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it('is rejected with another state or without one', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      const callback = await upToCallback(visitor);
      for (const state of ['', 'x', '0'.repeat(64)]) {
        const forged = new URL(callback);
        forged.searchParams.set('state', state);
        expect((await visitor.request(forged)).headers.get('location')).to.equal('/sign-in?problem=expired');
      }
      callback.searchParams.delete('state');
      expect((await visitor.request(callback)).headers.get('location')).to.equal('/sign-in?problem=expired');
    });

    it("is rejected with another user's code, which does not match the verifier", async () => {
      comes(createPerson());
      const theirs = await upToCallback(new HttpBrowser());
      comes(createPerson());
      const visitor = new HttpBrowser();
      const mine = await upToCallback(visitor);
      mine.searchParams.set('code', theirs.searchParams.get('code') ?? '');
      expect((await visitor.request(mine)).headers.get('location')).to.equal('/sign-in?problem=rejected');
      expect(visitor.cookie('token')).to.equal(undefined);
    });

    const forgeries: [string, (token: string) => Promise<string> | string][] = [
      ['with the nonce of another sign-in', () => google.fake.sign(buildClaims(google.fake, { nonce: 'another' }))],
      ['without a nonce', () => google.fake.sign(buildClaims(google.fake, { nonce: undefined }))],
      ['for another audience', () => google.fake.sign(buildClaims(google.fake, { aud: 'another-client' }))],
      ['of another issuer', () => google.fake.sign(buildClaims(google.fake, { iss: 'https://evil.example' }))],
      ['that has expired', () => google.fake.sign(buildClaims(google.fake, { exp: 1_000_000_000 }))],
      ['with an invalid signature', (token) => `${token.slice(0, -8)}AAAAAAAA`],
      [
        'without a signature',
        () =>
          `${[{ alg: 'none' }, buildClaims(google.fake, {})].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`,
      ],
    ];
    for (const [description, forge] of forgeries) {
      it(`is rejected with an ID token ${description}`, async () => {
        comes(createPerson());
        google.fake.onToken = async (answer) => ({ ...answer, id_token: await forge(answer.id_token) });
        const { visitor, page } = await signIn('google');
        expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'rejected']);
        expect(await me(visitor)).to.equal(null);
      });
    }

    it('is accepted with an unchanged ID token that the test has signed', async () => {
      comes(createPerson());
      const email = createPerson().email;
      google.fake.onToken = async (answer) => ({
        ...answer,
        id_token: await google.fake.sign(buildClaims(google.fake, { sub: email, email })),
      });
      expect((await me((await signIn('google')).visitor)).email).to.equal(email);
    });

    it('is accepted from Apple as a form post of another site', async () => {
      comes(createPerson());
      const { visitor } = await signIn('apple');
      expect(visitor.redirects.some((address) => address.endsWith('/authentication/social/apple/callback'))).to.equal(
        true,
      );
      expect(await me(visitor)).to.not.equal(null);
    });
  });

  describe('an unavailable provider', () => {
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
        comes(createPerson());
        google.fake.misbehaviour.set('/token', how);
        github.fake.misbehaviour.set('/login/oauth/access_token', how);
        for (const provider of ['google', 'github'] as const) {
          const began = performance.now();
          const visitor = new HttpBrowser();
          const page = await visitor.navigate(startPath(provider, '/sign-in?x=1', hasty.baseUrl));
          expect(performance.now() - began).to.be.below(scaleTimeout(4_000));
          expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unavailable']);
          expect(page.url.searchParams.get('return_to')).to.equal('/sign-in?x=1');
          expect(visitor.cookie('token')).to.equal(undefined);
        }
      });

      it(`is reported within the timeout: ${how} when GitHub returns the user or the addresses`, async () => {
        for (const path of ['/api/v3/user', '/api/v3/user/emails']) {
          comes(createPerson());
          github.fake.misbehaviour.clear();
          github.fake.misbehaviour.set(path, how);
          const page = await new HttpBrowser().navigate(startPath('github', undefined, hasty.baseUrl));
          expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unavailable']);
        }
      });
    }

    it('is logged without secrets', async () => {
      const visitor = new HttpBrowser();
      comes(createPerson());
      const callback = await upToCallback(visitor);
      google.fake.misbehaviour.set('/token', 'error');
      await visitor.request(callback);
      await service.apis[0]?.waitForLog('sign-in failed');
      const logs = service.apis[0]?.logs() ?? '';
      for (const name of ['code', 'state']) expect(logs).to.not.include(callback.searchParams.get(name));
      expect(logs).to.not.include('google-secret');
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
        comes(createPerson());
        const visitor = new HttpBrowser();
        const { headers } = await visitor.request(await upToCallback(visitor, 'google', returnTo));
        const location = new URL(headers.get('location') ?? '', service.baseUrl);
        expect(location.href).to.equal(new URL(returnTo, service.baseUrl).href);
      });
    }

    for (const returnTo of bad) {
      it(`redirects to the account page in place of ${JSON.stringify(returnTo.slice(0, 40))}`, async () => {
        comes(createPerson());
        const visitor = new HttpBrowser();
        const { headers } = await visitor.request(await upToCallback(visitor, 'github', returnTo));
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

  describe('the session', () => {
    it('is a new one, and ends the previous session of the browser and no other', async () => {
      comes(createPerson());
      const elsewhere = (await signIn('google')).visitor;
      const { visitor } = await signIn('google');
      const before = visitor.cookie('token') as string;
      await signIn('google', visitor);
      const after = visitor.cookie('token') as string;
      expect(after).to.not.equal(before);
      visitor.cookies = [{ name: 'token', value: before, path: '/' }];
      expect(await me(visitor)).to.equal(null);
      visitor.cookies = [{ name: 'token', value: after, path: '/' }];
      expect(await me(visitor)).to.not.equal(null);
      expect(await me(elsewhere)).to.not.equal(null);
    });

    it('never adopts a token that the browser had before the sign-in', async () => {
      comes(createPerson());
      const visitor = new HttpBrowser();
      visitor.cookies.push({ name: 'token', value: 'f'.repeat(64), path: '/' });
      await signIn('google', visitor);
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
      comes(createPerson());
      const visitor = new HttpBrowser();
      const first = await upToCallback(visitor);
      const second = await upToCallback(visitor);
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
    await new HttpBrowser().request(startPath('google'));
    await service.sql("UPDATE sign_in_attempts SET expires_at = now() - interval '1 second'");
    await new HttpBrowser().request(startPath('github'));
    await service.startWorker();
    const left = () => service.sql('SELECT provider FROM sign_in_attempts');
    await eventually('the old attempts are gone', async () => (await left()).length === 1);
    expect(await left()).to.deep.equal([{ provider: 'github' }]);
  });
});
