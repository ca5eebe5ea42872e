import { expect } from 'chai';
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeApple } from '../fakes/identity/providers.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { type ProviderSignIn, startProviderSignIn } from '../harness/providerSignIn.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

type FakeApple = Awaited<ReturnType<typeof startFakeApple>>;

/** Builds the claims of a notification as Apple sends it. */
function buildClaims({ fake, env }: FakeApple, type: string, subject: string, at = Date.now()): JWTPayload {
  const seconds = Math.floor(Date.now() / 1_000);
  const event = { type, sub: subject, event_time: at };
  return { iss: fake.url, aud: env.APPLE_CLIENT_ID, iat: seconds, jti: 'abede67890', events: JSON.stringify(event) };
}

async function send(service: TestService, body: string): Promise<Response> {
  return fetch(`${service.baseUrl}/sign-in-events/apple`, { method: 'POST', body });
}

describe('notifications of Apple', () => {
  let providers: ProviderSignIn;
  let service: TestService;
  before(async () => {
    providers = await startProviderSignIn({ APPLE_APP_ID: 'com.example.app' });
    ({ service } = providers);
  });
  after(() => providers.stop());
  afterEach(() => providers.resetFakes());

  const notify = async (type: string, { subject }: FakePerson, at?: number, changes: object = {}) => {
    const claims = buildClaims(providers.apple, type, subject, at);
    const payload = await providers.apple.fake.sign({ ...claims, ...changes });
    return (await send(service, JSON.stringify({ payload }))).status;
  };
  const signIn = async (provider: 'apple' | 'google', person: FakePerson) => {
    providers.setPerson(person);
    return (await providers.signIn(provider, new HttpBrowser())).visitor;
  };
  const countIdentities = async ({ subject }: FakePerson) =>
    (await service.sql('SELECT 1 FROM identities WHERE subject = $1', [subject])).length;
  const readEvents = async (uuid: string) => {
    const rows = await service.sql(
      `SELECT event FROM security_events e JOIN accounts a ON a.id = e.account_id WHERE a.uuid = $1 ORDER BY e.id`,
      [uuid],
    );
    return rows.map(({ event }: { event: string }) => event);
  };

  it('that consent was withdrawn end the sessions, and a later sign-in opens the same account', async () => {
    const person = createPerson();
    const browsers = [await signIn('apple', person), await signIn('apple', person)];
    const other = await signIn('apple', createPerson());
    const { uuid } = await providers.readUser(browsers[0] as HttpBrowser);
    const withdrawnAt = Date.now();
    for (let time = 0; time < 2; time += 1) expect(await notify('consent-revoked', person, withdrawnAt)).to.equal(200);
    for (const browser of browsers) expect(await providers.readUser(browser)).to.equal(null);
    expect(await providers.readUser(other)).to.not.equal(null);
    expect(await readEvents(uuid)).to.deep.equal(['identity_linked', 'signed_in', 'signed_in', 'session_ended']);

    const back = await signIn('apple', { ...person, email: createPerson().email });
    expect((await providers.readUser(back)).uuid).to.equal(uuid);
    expect(await notify('consent-revoked', person, withdrawnAt)).to.equal(200);
    const { text } = await back.request(`${service.baseUrl}/account/security/`);
    expect(text).to.include('Signed out of 2 sessions, because access was withdrawn at Apple');
  });

  it('that a user was deleted remove the sign-in method, and keep the account for the owner of its address', async () => {
    const person = createPerson();
    const browser = await signIn('apple', person);
    const { uuid } = await providers.readUser(browser);
    for (const type of ['account-deleted', 'account-delete']) expect(await notify(type, person)).to.equal(200);
    expect(await providers.readUser(browser)).to.equal(null);
    expect(await countIdentities(person)).to.equal(0);
    const [account] = await service.sql('SELECT erased_at, deletion_requested_at FROM accounts WHERE uuid = $1', [
      uuid,
    ]);
    expect(account).to.deep.equal({ erased_at: null, deletion_requested_at: null });

    const byGoogle = await signIn('google', createPerson({ email: person.email }));
    expect((await providers.readUser(byGoogle)).uuid).to.equal(uuid);

    const deletedAt = Date.now() - 1_000;
    const again = await signIn('apple', { ...person, email: createPerson().email });
    expect(await notify('account-deleted', person, deletedAt)).to.equal(200);
    expect(await providers.readUser(again)).to.not.equal(null);
    expect(await notify('account-deleted', person, 8.64e15)).to.equal(200);
    expect(await providers.readUser(again)).to.equal(null);
  });

  it('are accepted for the App ID, and with the event as an object', async () => {
    for (const build of [
      () => ({ aud: 'com.example.app' }),
      ({ subject }: FakePerson) => ({ events: { type: 'consent-revoked', sub: subject, event_time: Date.now() } }),
    ]) {
      const person = createPerson();
      const browser = await signIn('apple', person);
      expect(await notify('consent-revoked', person, Date.now(), build(person))).to.equal(200);
      expect(await providers.readUser(browser)).to.equal(null);
    }
  });

  it('about forwarding of mail, of unknown types or about unknown users change nothing', async () => {
    const person = createPerson();
    const browser = await signIn('apple', person);
    for (const type of ['email-disabled', 'email-enabled', 'something-new']) {
      expect(await notify(type, person)).to.equal(200);
    }
    for (const type of ['consent-revoked', 'account-delete']) expect(await notify(type, createPerson())).to.equal(200);
    expect(await providers.readUser(browser)).to.not.equal(null);
    expect(await countIdentities(person)).to.equal(1);
  });
});

describe('forged notifications of Apple', () => {
  const LIMIT = 11;
  let apple: FakeApple;
  let service: TestService;
  before(async () => {
    apple = await startFakeApple();
    const env = { ...apple.env, RATE_LIMITS: 'on', RATE_PUBLIC_PER_MINUTE: String(LIMIT) };
    service = await startTestService({ workers: 0, env });
    await apple.serve(service.baseUrl);
  });
  after(async () => {
    await service.stop();
    await apple.fake.stop();
  });

  it('are 503 while the keys of Apple cannot be fetched, and are then not counted', async () => {
    apple.fake.misbehaviour.set('/.well-known', 503);
    const payload = await apple.fake.sign(buildClaims(apple, 'consent-revoked', 'someone'));
    const { status, headers } = await send(service, JSON.stringify({ payload }));
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '60']);
    apple.fake.misbehaviour.clear();
  });

  it('are rejected and counted against their address, and those of Apple never are', async () => {
    const claims = buildClaims(apple, 'consent-revoked', 'someone');
    const { privateKey } = await generateKeyPair('RS256');
    const { events: _events, ...withoutEvents } = claims;
    const forged = [
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'fake' }).sign(privateKey),
      await apple.fake.sign({ ...claims, aud: 'com.example.other' }),
      await apple.fake.sign({ ...claims, iss: 'https://other.example' }),
      await apple.fake.sign({ ...claims, exp: (claims.iat as number) - 60 }),
      await apple.fake.sign(withoutEvents),
      await apple.fake.sign({ ...claims, events: 'consent-revoked' }),
      await apple.fake.sign({ ...claims, events: { type: 'consent-revoked', sub: 'a\u0000', event_time: 1 } }),
      await apple.fake.sign({ ...claims, events: { type: 'consent-revoked', sub: 'a', event_time: -8.64e15 } }),
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`,
    ].map((payload) => JSON.stringify({ payload }));
    const bodies = [...forged, '{}', 'payload'];
    expect(bodies.length).to.equal(LIMIT);
    for (const body of bodies) expect((await send(service, body)).status, body).to.equal(400);
    expect((await send(service, forged[0] as string)).status).to.equal(429);
    const payload = await apple.fake.sign(claims);
    expect((await send(service, JSON.stringify({ payload }))).status).to.equal(200);
  });
});
