import { expect } from 'chai';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { startLinking } from '../harness/providerSignIn.ts';

type ProviderName = 'google' | 'github';

describe('sign-in methods of an account', () => {
  const STAFF_EMAIL = 'boss@example.com';
  let service: TestService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let github: Awaited<ReturnType<typeof startFakeGitHub>>;
  before(async () => {
    [google, github] = await Promise.all([startFakeGoogle(), startFakeGitHub()]);
    const env = { STAFF_EMAILS: STAFF_EMAIL, ...google.env, ...github.env };
    service = await startTestService({ workers: 0, env });
    await google.serve(service.baseUrl);
  });
  after(async () => {
    await service.stop();
    await Promise.all([google, github].map(({ fake }) => fake.stop()));
  });

  const isAt = (provider: ProviderName, person: FakePerson) => {
    (provider === 'google' ? google : github).fake.person = person;
    return person;
  };
  const signIn = async (provider: ProviderName, person: FakePerson, visitor = new HttpBrowser()) => {
    isAt(provider, person);
    await visitor.navigate(`${service.baseUrl}/authentication/social/${provider}/start`);
    return visitor;
  };
  const me = async (visitor: HttpBrowser) => {
    const { status, text } = await visitor.request(`${service.baseUrl}/authentication/me/`);
    return status === 200 ? JSON.parse(text).user : null;
  };
  const metrics = async (visitor: HttpBrowser) =>
    (await visitor.request(`${service.baseUrl}/api/admin/metrics/`)).status;
  const settingsPage = (visitor: HttpBrowser) => visitor.request(`${service.baseUrl}/account/settings/`);
  const link = async (visitor: HttpBrowser, provider: ProviderName, person: FakePerson) => {
    isAt(provider, person);
    return visitor.navigate(await startLinking(service.baseUrl, visitor, provider));
  };
  const removalPaths = async (visitor: HttpBrowser) =>
    [...(await settingsPage(visitor)).text.matchAll(/href="(\/account\/identities\/[^"]+\/remove\/)"/g)].map(
      ([, path]) => path as string,
    );
  const remove = async (visitor: HttpBrowser, path: string) => {
    const { text } = await visitor.request(service.baseUrl + path);
    return visitor.submitForm(service.baseUrl + path, findForm(text, path).fields);
  };

  it('are linked from a signed-in session, under any verified address, and then both sign in to the account', async () => {
    const [owner, other] = [createPerson(), createPerson()];
    const visitor = await signIn('google', owner);
    const before = visitor.cookie('token');
    const page = await link(visitor, 'github', other);
    expect(page.text).to.include('The sign-in method is linked').and.to.include(other.email);
    expect(visitor.cookie('token')).to.equal(before);
    const account = await me(visitor);
    expect((await me(await signIn('github', other))).uuid).to.equal(account.uuid);
    expect((await me(await signIn('google', owner))).uuid).to.equal(account.uuid);
    expect((await settingsPage(visitor)).text).to.not.include('/link/');
  });

  it('can be linked after a sign-in with a second provider was rejected', async () => {
    const owner = createPerson();
    await signIn('google', owner);
    const atGitHub = { ...createPerson(), email: owner.email };
    expect(await me(await signIn('github', atGitHub))).to.equal(null);
    const visitor = await signIn('google', owner);
    await link(visitor, 'github', atGitHub);
    expect((await me(await signIn('github', atGitHub))).email).to.equal(owner.email);
  });

  it('cannot be linked after the session that started it has ended', async () => {
    const visitor = await signIn('google', createPerson());
    const atGitHub = isAt('github', createPerson());
    const address = await startLinking(service.baseUrl, visitor, 'github');
    await service.sql('DELETE FROM sessions WHERE token_hash = sha256($1)', [
      Buffer.from(visitor.cookie('token') ?? ''),
    ]);
    const page = await visitor.navigate(address);
    expect(page.url.pathname).to.equal('/sign-in');
    expect(await service.sql('SELECT 1 FROM identities WHERE subject = $1', [atGitHub.subject])).to.deep.equal([]);
    expect(await service.sql('SELECT 1 FROM identities WHERE email = $1', [atGitHub.email])).to.deep.equal([]);
  });

  it('cannot be linked to two accounts, nor two of one provider to one account', async () => {
    const [first, second] = [createPerson(), createPerson()];
    const atGitHub = createPerson();
    await link(await signIn('google', first), 'github', atGitHub);
    const visitor = await signIn('google', second);
    expect((await link(visitor, 'github', atGitHub)).text).to.include('is linked to another genmeter account');
    const address = await startLinking(service.baseUrl, visitor, 'github');
    await link(visitor, 'github', createPerson());
    isAt('github', createPerson());
    expect((await visitor.navigate(address)).text).to.include('Another GitHub account is already linked');
  });

  it('are linked once when one identity is linked to several accounts at once', async () => {
    const atGitHub = isAt('github', createPerson());
    const visitors: HttpBrowser[] = [];
    for (let count = 0; count < 3; count += 1) visitors.push(await signIn('google', createPerson()));
    const addresses = await Promise.all(visitors.map((visitor) => startLinking(service.baseUrl, visitor, 'github')));
    const pages = await Promise.all(visitors.map((visitor, index) => visitor.navigate(addresses[index] as string)));
    expect(pages.filter(({ text }) => text.includes('The sign-in method is linked')).length).to.equal(1);
    expect(pages.filter(({ text }) => text.includes('is linked to another genmeter account')).length).to.equal(2);
    const rows = await service.sql('SELECT 1 FROM identities WHERE email = $1', [atGitHub.email]);
    expect(rows.length).to.equal(1);
  });

  it('are removed after a confirmation with the sessions that they opened, except the last one', async () => {
    const [owner, atGitHub] = [createPerson(), createPerson()];
    const visitor = await signIn('google', owner);
    expect(await removalPaths(visitor)).to.deep.equal([]);
    await link(visitor, 'github', atGitHub);
    const byGitHub = await signIn('github', atGitHub);
    const [googlePath = '', gitHubPath = ''] = await removalPaths(visitor);
    expect((await visitor.request(service.baseUrl + gitHubPath)).text).to.include('Remove GitHub?');
    expect((await visitor.submitForm(service.baseUrl + gitHubPath, {})).status).to.equal(403);
    expect(await me(byGitHub)).to.not.equal(null);

    expect((await remove(visitor, gitHubPath)).headers.get('location')).to.equal(
      '/account/settings/?done=identity-removed',
    );
    expect(await me(byGitHub)).to.equal(null);
    expect(await me(visitor)).to.not.equal(null);
    expect((await me(await signIn('github', atGitHub))).email).to.equal(atGitHub.email);
    expect(await removalPaths(visitor)).to.deep.equal([]);
    const last = await remove(visitor, googlePath);
    expect(last.status).to.equal(400);
    expect(last.text).to.include('only sign-in method');
  });

  it('are audited with the network and the UUID of the account, without secrets', async () => {
    const visitor = await signIn('google', createPerson());
    const { uuid } = await me(visitor);
    await link(visitor, 'github', createPerson());
    const { fields } = findForm((await settingsPage(visitor)).text, '/account/sign-out/');
    await visitor.submitForm(`${service.baseUrl}/account/sign-out/`, fields);
    const lines = () =>
      (service.apis[0]?.logs() ?? '')
        .split('\n')
        .filter((line) => line.includes('"msg":"audit"') && line.includes(uuid))
        .map((line) => JSON.parse(line));
    await eventually('they are logged', () => lines().length === 4);
    const events = ['identity_linked', 'signed_in', 'identity_linked', 'signed_out'];
    expect(lines().map(({ event }) => event)).to.deep.equal(events);
    for (const line of lines()) expect(line.network).to.equal('127.0.0.1');
  });

  it('open sessions that expire after 7 days without use', async () => {
    const visitor = await signIn('google', createPerson());
    const hash = [Buffer.from(visitor.cookie('token') ?? '')];
    const rest = (days: number) =>
      service.sql(
        `UPDATE sessions SET last_used_at = now() - ${days} * interval '1 day' WHERE token_hash = sha256($1)`,
        hash,
      );
    await rest(6);
    expect(await me(visitor)).to.not.equal(null);
    await rest(8);
    expect(await me(visitor)).to.equal(null);
    expect((await settingsPage(visitor)).headers.get('location')).to.match(/^\/sign-in/);
  });

  describe('staff rights', () => {
    it('belong to the identities of the first sign-in, not to the address or to what is linked later', async () => {
      const boss = createPerson({ email: STAFF_EMAIL });
      const visitor = await signIn('google', boss);
      expect([(await me(visitor)).is_staff, await metrics(visitor)]).to.deep.equal([true, 200]);

      const heir = createPerson({ email: STAFF_EMAIL });
      expect(await me(await signIn('github', heir))).to.equal(null);

      await link(visitor, 'github', heir);
      const linked = await signIn('github', heir);
      expect([(await me(linked)).is_staff, await metrics(linked)]).to.deep.equal([false, 403]);
      expect((await linked.request(`${service.baseUrl}/admin/`)).status).to.equal(403);
      expect((await linked.request(`${service.baseUrl}/admin/queues`)).status).to.equal(403);
      // A key has the rights of the session that creates it.
      await service.sql(`UPDATE identities SET created_at = created_at - interval '7 days' WHERE email = $1`, [
        STAFF_EMAIL,
      ]);
      const createKey = async (authorization: Record<string, string>, browser = new HttpBrowser()) => {
        const { text } = await browser.request(`${service.baseUrl}/api/keys/create/`, {
          method: 'POST',
          headers: { origin: service.baseUrl, 'content-type': 'application/json', ...authorization },
          body: JSON.stringify({ name: 'a' }),
        });
        return { authorization: `Bearer ${JSON.parse(text).key}` };
      };
      const metricsByKey = async (headers: Record<string, string>) =>
        (await service.request('GET', '/api/admin/metrics/', { headers })).status;
      const ofLinked = await createKey({}, linked);
      const ofBoss = await createKey({}, visitor);
      const keys = [ofLinked, await createKey(ofLinked), ofBoss, await createKey(ofBoss)];
      expect(await Promise.all(keys.map(metricsByKey))).to.deep.equal([403, 403, 200, 200]);
      const overviewPage = (browser: HttpBrowser) => browser.request(`${service.baseUrl}/account/`);
      expect((await overviewPage(linked)).text).to.not.include('href="/admin/"');
      expect((await overviewPage(visitor)).text).to.include('href="/admin/"');

      const [googlePath = ''] = await removalPaths(linked);
      await remove(linked, googlePath);
      const again = await signIn('github', heir);
      expect([(await me(again)).is_staff, await metrics(again)]).to.deep.equal([false, 403]);
    });
  });
});
