import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { startFakeGoogle } from '../fakes/identity/providers.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { getPageError, type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import type { TestService } from '../harness/testService.ts';

describe('accounts of sign-in with a provider', () => {
  let providers: ProviderSignIn;
  let service: TestService;
  before(async () => {
    providers = await startProviderSignIn();
    ({ service } = providers);
  });
  after(() => providers.stop());
  afterEach(() => providers.resetFakes());

  it('are not opened by another provider with the same verified address, in any case of letters', async () => {
    const person = providers.setPerson(createPerson());
    await providers.signIn('google');
    for (const provider of ['apple', 'github'] as const) {
      providers.setPerson({ ...createPerson(), email: person.email.toUpperCase() });
      const { visitor, page } = await providers.signIn(provider, new HttpBrowser(), '/account/?x=1');
      expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'other_provider']);
      const title = provider === 'apple' ? 'Apple' : 'GitHub';
      expect(page.text).to.include(`Sign in with Google first, then link ${title}`);
      expect(page.url.searchParams.get('return_to')).to.equal('/account/?x=1');
      expect(await providers.readUser(visitor)).to.equal(null);
    }
    const rows = await service.sql(
      'SELECT provider FROM identities i JOIN people p ON p.id = i.person_id WHERE p.email = $1',
      [person.email],
    );
    expect(rows).to.deep.equal([{ provider: 'google' }]);
  });

  it('are not opened by another user of the same provider who has taken over the address', async () => {
    const owner = providers.setPerson(createPerson());
    await providers.signIn('google');
    providers.setPerson(createPerson({ email: owner.email }));
    const { visitor, page } = await providers.signIn('google');
    expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'taken']);
    expect(await providers.readUser(visitor)).to.equal(null);
  });

  it('are separated by issuer: the same subject of another issuer is another user', async () => {
    const owner = providers.setPerson(createPerson());
    const first = await providers.readUser((await providers.signIn('google')).visitor);
    await service.sql(`UPDATE identities SET issuer = 'https://before.example' WHERE subject = $1`, [owner.subject]);
    providers.setPerson({ ...createPerson(), subject: owner.subject });
    const second = await providers.readUser((await providers.signIn('google')).visitor);
    expect(second.uuid).to.not.equal(first.uuid);
  });

  it('from local sign-in lose all earlier access when the owner signs in with a provider', async () => {
    const owner = providers.setPerson(createPerson());
    const [{ id }] = await service.sql(
      `INSERT INTO accounts (uuid, email, social_provider, created_at, key_count, active_key_count)
       VALUES (gen_random_uuid(), $1, 'dev', now(), 1, 1) RETURNING id`,
      [owner.email],
    );
    await service.sql(INSERT_OWNERS);
    await service.sql(
      `INSERT INTO sessions (token_hash, uuid, person_id, account_id, member_number, created_at, last_used_at, expires_at)
       SELECT sha256('left over'), gen_random_uuid(), person_id, account_id, number, now(), now(), now() + interval '1 day'
         FROM members WHERE account_id = $1`,
      [id],
    );
    await service.sql(
      `INSERT INTO api_keys (key_hash, uuid, account_id, number, member_number, name, prefix, created_at)
       VALUES (sha256($2), gen_random_uuid(), $1, 1, 1, 'left over', 'svc_', now())`,
      [id, Buffer.from(owner.email)],
    );
    expect((await providers.readUser((await providers.signIn('google')).visitor)).email).to.equal(owner.email);
    const left = await service.sql(
      `SELECT (SELECT count(*) FROM sessions WHERE account_id = $1)::int AS sessions,
              (SELECT count(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL)::int AS keys,
              active_key_count, social_provider FROM accounts WHERE id = $1`,
      [id],
    );
    expect(left).to.deep.equal([{ sessions: 1, keys: 0, active_key_count: 0, social_provider: 'google' }]);
  });

  it('of another user are not linked through an unverified address', async () => {
    const owner = providers.setPerson(createPerson());
    await providers.signIn('google');
    providers.setPerson(createPerson({ email: owner.email, isVerified: false }));
    const { visitor, page } = await providers.signIn('github');
    expect(getPageError(page.url)).to.deep.equal(['/sign-in', 'unverified']);
    expect(await providers.readUser(visitor)).to.equal(null);
  });

  it('use only the primary address of GitHub, not another verified one', async () => {
    const owner = providers.setPerson(createPerson());
    await providers.signIn('google');
    providers.setPerson(createPerson());
    providers.github.fake.addresses = [
      { email: owner.email, primary: false, verified: true },
      { email: 'primary@example.com', primary: true, verified: false },
    ];
    expect(getPageError((await providers.signIn('github')).page.url)).to.deep.equal(['/sign-in', 'unverified']);
  });

  it('are created once when a user signs in for the first time in many windows at once', async () => {
    const person = providers.setPerson(createPerson());
    const ends = await Promise.all(Array.from({ length: 12 }, () => providers.signIn('google')));
    for (const { page } of ends) expect(page.url.pathname + page.url.search).to.equal('/account/');
    const uuids = await Promise.all(ends.map(async ({ visitor }) => (await providers.readUser(visitor)).uuid));
    expect(new Set(uuids).size).to.equal(1);
    const [{ count }] = await service.sql('SELECT count(*) FROM identities WHERE email = $1', [person.email]);
    expect(Number(count)).to.equal(1);
  });

  it('have one provider when the first sign-ins with two providers are concurrent', async () => {
    const person = providers.setPerson(createPerson());
    const ends = await Promise.all([
      providers.signIn('google'),
      providers.signIn('github'),
      providers.signIn('google'),
      providers.signIn('github'),
    ]);
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
      providers.setPerson(createPerson({ firstName: '' }));
      const visitor = new HttpBrowser();
      const page = await visitor.navigate(providers.startUrl('apple'), (next) => next.pathname.endsWith('/callback'));
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
      expect((await providers.readUser(visitor)).first_name).to.match(/^x{0,200}$/);
    }
  });
});
