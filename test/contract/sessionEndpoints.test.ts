import { expect } from 'chai';
import { type ApiResponse, type TestCustomer, createCustomer, request } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError, UUID } from '../harness/errorEnvelope.ts';

/** Parses the attributes of a `Set-Cookie` header, with names in lower case. */
function parseCookie(answer: ApiResponse): Record<string, string> {
  const [first = '', ...attributes] = (answer.headers.getSetCookie()[0] ?? '').split('; ');
  const pairs = attributes
    .map((attribute) => attribute.split('='))
    .map(([name = '', value = '']) => [name.toLowerCase(), value]);
  return { cookie: first, ...Object.fromEntries(pairs) };
}

const readUser = async (customer: TestCustomer) =>
  (await customer.requestWithSession('GET', '/authentication/me/')).body.user;

const updateOnboarding = (customer: TestCustomer, body: unknown) =>
  customer.requestWithSession('POST', '/authentication/onboarding/advance/', { body });

describe('session endpoints', () => {
  const service = useTestService({ workers: 0 });

  const signIn = (email: unknown) => service.request('POST', '/authentication/dev/sign-in/', { body: { email } });

  describe('local sign-in', () => {
    it('returns 200 with the user, and sets an HttpOnly, SameSite=Lax cookie named token for 30 days', async () => {
      const answer = await signIn('ada@example.com');
      expect(answer.status).to.equal(200);
      expect(answer.body.user.uuid).to.match(UUID);
      expect({ ...answer.body.user, uuid: '' }).to.deep.equal({
        uuid: '',
        email: 'ada@example.com',
        first_name: '',
        language: 'en',
        use_case: '',
        onboarding_step: 'profile',
        is_staff: false,
        social_provider: 'dev',
        plan: null,
        credits: { balance: 0 },
        is_affiliate: false,
      });
      const { cookie, expires, ...attributes } = parseCookie(answer);
      expect(cookie).to.match(/^token=\S{32,}$/);
      expect(attributes).to.deep.equal({ path: '/', httponly: '', samesite: 'lax' });
      expect((Date.parse(expires ?? '') - Date.now()) / 86_400_000).to.be.within(29.9, 30.1);
    });

    it('marks the cookie Secure when the service uses https, and accepts changes from that origin', async () => {
      const { baseUrl } = await service.startApi({ BASE_URL: 'https://app.localhost' });
      const answer = await request(baseUrl, 'POST', '/authentication/dev/sign-in/', {
        body: { email: 'tls@example.com' },
      });
      const { cookie = '', ...attributes } = parseCookie(answer);
      expect(attributes).to.have.property('secure');
      const patch = (origin: string) =>
        request(baseUrl, 'PATCH', '/authentication/me/', { headers: { cookie, origin }, body: { first_name: 'T' } });
      expect((await patch('https://app.localhost')).status).to.equal(200);
      expectError(await patch('http://app.localhost'), 'invalid_api_key');
      expectError(await patch(baseUrl), 'invalid_api_key');
    });

    it('finds the account by e-mail in any case of letters, also in concurrent first sign-ins', async () => {
      const answers = await Promise.all(['Grace@Example.com', 'grace@example.com', 'GRACE@EXAMPLE.COM'].map(signIn));
      const [first, ...others] = answers.map(({ body }) => body.user);
      expect(first.email).to.equal('grace@example.com');
      for (const other of others) expect(other.uuid).to.equal(first.uuid);
      expect(new Set(answers.map((answer) => parseCookie(answer)['cookie'])).size).to.equal(3);
    });

    it('stores only a hash of the cookie', async () => {
      const answer = await signIn('hash@example.com');
      const token = parseCookie(answer)['cookie']?.slice('token='.length) ?? '';
      const rows = await service.sql('SELECT s::text AS everything FROM sessions s');
      expect(JSON.stringify(rows)).to.not.include(token);
    });

    for (const email of [
      undefined,
      null,
      '',
      'ada',
      '@example.com',
      'ada@',
      'a b@example.com',
      5,
      ['a@b.c'],
      'a\u0000@example.com',
      '\ud800@example.com',
      `${'a'.repeat(65)}@example.com`,
      `a@${'b'.repeat(260)}.com`,
    ]) {
      it(`rejects ${JSON.stringify(email)?.slice(0, 40)} as an address`, async () => {
        expectError(await signIn(email), 'validation_error', 'email');
      });
    }
  });

  describe('social config', () => {
    it('reports without authentication which providers are configured: none', async () => {
      const { status, body } = await service.request('GET', '/authentication/social/config/');
      expect([status, body]).to.deep.equal([200, { google: false, apple: false, github: false }]);
    });
  });

  describe('me', () => {
    it('returns 200 { user }, with the plan once a subscription is active', async () => {
      const customer = await service.createCustomer('pro');
      const { status, body } = await customer.requestWithSession('GET', '/authentication/me/');
      expect(status).to.equal(200);
      expect(body).to.have.all.keys('user');
      expect(body.user).to.deep.include({
        email: customer.email,
        plan: { slug: 'pro', name: 'Pro', parallel_limit: 5 },
        credits: { balance: 1100 },
      });
    });

    it('changes only the fields that PATCH sends', async () => {
      const customer = await service.createCustomer(null);
      const before = await readUser(customer);
      const steps = [
        { first_name: ' Ada ' },
        { language: 'pt-BR' },
        { use_case: 'Adverts 🎬' },
        { first_name: '', language: 'de', use_case: '' },
        {},
      ];
      let expected = before;
      for (const body of steps) {
        const answer = await customer.requestWithSession('PATCH', '/authentication/me/', { body });
        expected = { ...expected, ...body, first_name: (body.first_name ?? expected.first_name).trim() };
        expect([answer.status, answer.body]).to.deep.equal([200, { user: expected }]);
        expect(await readUser(customer)).to.deep.equal(expected);
      }
    });

    const refused: [string, unknown][] = [
      ...[null, 5, true, [], {}, 'x'.repeat(201), 'a\u0000b', '\udc00'].flatMap((value): [string, unknown][] => [
        ['first_name', value],
        ['use_case', value],
      ]),
      ...[null, 5, '', 'English, please', 'e', '<en>', 'en-', 'x'.repeat(40)].map((value): [string, unknown] => [
        'language',
        value,
      ]),
      ...['email', 'is_staff', 'onboarding_step', 'credits', 'constructor'].map((name): [string, unknown] => [
        name,
        'complete',
      ]),
    ];
    for (const [field, value] of refused) {
      it(`rejects ${field} ${JSON.stringify(value).slice(0, 30)} by name`, async () => {
        const customer = await service.createCustomer(null);
        const before = await readUser(customer);
        const answer = await customer.requestWithSession('PATCH', '/authentication/me/', { body: { [field]: value } });
        expectError(answer, 'validation_error', field);
        expect(await readUser(customer)).to.deep.equal(before);
      });
    }
  });

  describe('logout', () => {
    it('returns 204, clears the session cookie, and ends that session only', async () => {
      const customer = await service.createCustomer(null);
      const elsewhere = parseCookie(await signIn(customer.email))['cookie'] ?? '';
      const answer = await customer.requestWithSession('POST', '/authentication/logout/');
      expect([answer.status, answer.body]).to.deep.equal([204, undefined]);
      const { cookie, expires } = parseCookie(answer);
      expect(cookie).to.equal('token=');
      expect(Date.parse(expires ?? '')).to.be.below(Date.now());
      expectError(await customer.requestWithSession('GET', '/authentication/me/'), 'invalid_api_key');
      expectError(await customer.requestWithSession('POST', '/authentication/logout/'), 'invalid_api_key');
      const other = await service.request('GET', '/authentication/me/', { headers: { cookie: elsewhere } });
      expect(other.status).to.equal(200);
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);
    });
  });

  describe('onboarding', () => {
    it('advances through profile, plan and complete', async () => {
      const customer = await service.createCustomer(null);
      const profile = await updateOnboarding(customer, {
        step_completed: 'profile',
        data: { first_name: 'Ada', use_case: 'Films' },
      });
      expect(profile.status).to.equal(200);
      expect(profile.body.user).to.include({ onboarding_step: 'plan', first_name: 'Ada', use_case: 'Films' });
      await customer.requestWithSession('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
      expect((await updateOnboarding(customer, { step_completed: 'plan' })).body.user.onboarding_step).to.equal(
        'complete',
      );
      expect((await readUser(customer)).onboarding_step).to.equal('complete');
    });

    it('does not let the plan step be skipped: 402 subscription_required', async () => {
      const customer = await service.createCustomer(null);
      await updateOnboarding(customer, { step_completed: 'profile' });
      expectError(await updateOnboarding(customer, { step_completed: 'plan' }), 'subscription_required');
      expect((await readUser(customer)).onboarding_step).to.equal('plan');
    });

    it('keeps the order of the steps', async () => {
      const customer = await service.createCustomer('lite');
      expectError(await updateOnboarding(customer, { step_completed: 'plan' }), 'validation_error', 'step_completed');
      expect((await readUser(customer)).onboarding_step).to.equal('profile');
    });

    it('never goes back when a step is marked complete again', async () => {
      const customer = await service.createCustomer('lite');
      for (const step of ['profile', 'profile', 'plan', 'plan', 'profile']) {
        expect((await updateOnboarding(customer, { step_completed: step })).status).to.equal(200);
      }
      expect((await readUser(customer)).onboarding_step).to.equal('complete');
      service.fabricated.add('entitlement-matches-subscription');
      await service.sql('UPDATE accounts SET spendable_until = now() WHERE email = $1', [customer.email]);
      const repeated = await updateOnboarding(customer, { step_completed: 'plan', data: { first_name: 'Ada' } });
      expect(repeated.body.user).to.include({ onboarding_step: 'complete', first_name: 'Ada' });
    });

    it('names the invalid field', async () => {
      const customer = await service.createCustomer(null);
      for (const step of [undefined, null, 'complete', 'Profile', '', 1, ['profile'], '__proto__']) {
        expectError(await updateOnboarding(customer, { step_completed: step }), 'validation_error', 'step_completed');
      }
      for (const data of [null, 'x', 5, [], { first_name: 5 }]) {
        expectError(await updateOnboarding(customer, { step_completed: 'profile', data }), 'validation_error', 'data');
      }
      expect((await readUser(customer)).onboarding_step).to.equal('profile');
    });
  });

  it('a cookie that is empty, malformed or unknown is rejected with 401', async () => {
    for (const cookie of ['', 'token=', 'token=abc', `token=${'0'.repeat(64)}`, 'token="', 'Token=x', 'token=\u00e9'])
      for (const path of ['/authentication/me/', '/api/keys/'])
        expectError(await service.request('GET', path, { headers: { cookie } }), 'invalid_api_key');
  });

  it('expired sessions are deleted by the workers', async () => {
    const customer = await createCustomer(service.baseUrl, null);
    const owner = '(SELECT id FROM accounts WHERE email = $1)';
    await service.sql(`UPDATE sessions SET expires_at = now() WHERE account_id = ${owner}`, [customer.email]);
    await service.startWorker();
    const count = async () =>
      (await service.sql(`SELECT count(*)::int AS n FROM sessions WHERE account_id = ${owner}`, [customer.email]))[0].n;
    await eventually('pruned', async () => (await count()) === 0);
  });
});
