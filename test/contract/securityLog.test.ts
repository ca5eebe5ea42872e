import { expect } from 'chai';
import { linkIdentity, removeIdentity, signInWithIdentity } from '../../shared/domain/signIn/identities.ts';
import { createWebSession } from '../../shared/domain/signIn/sessions.ts';
import { buildRequestOrigin } from '../../shared/domain/accounts/securityEvents.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { captureError } from '../harness/expectRejection.ts';
import { createBrowserFor, HttpBrowser } from '../harness/httpBrowser.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { startTestService, type TestService, useTestService } from '../harness/testService.ts';

interface EventRow {
  event: string;
  network: string;
  user_agent: string;
  details: Record<string, string | number>;
}

const readEvents = (service: TestService, email: string): Promise<EventRow[]> =>
  service.sql(
    `SELECT e.event, e.network, e.user_agent, e.details
       FROM security_events e JOIN accounts a ON a.id = e.account_id WHERE a.email = $1 ORDER BY e.id`,
    [email],
  );

/** Builds the claims that a provider returns about a person. */
const claims = ({ subject, email }: FakePerson) => ({ subject, email, isEmailVerified: true, firstName: '' });

describe('the security log', () => {
  const service = useTestService({ workers: 0 });

  const at = (path: string) => service.baseUrl + path;
  const getPage = async (visitor: HttpBrowser, query = '') =>
    (await visitor.request(at(`/account/security/${query}`))).text;
  const names = async ({ email }: TestCustomer) => (await readEvents(service, email)).map(({ event }) => event);

  it('contains sign-ins, keys, applications and ended sessions, each with its network and browser', async () => {
    const { customer, visitor } = await createVisitor(service);
    const created = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'my robot' } });
    await sendAccountForm(service.baseUrl, visitor, `/account/keys/${created.body.uuid}/revoke/`);
    await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
    const [{ uuid }] = await service.sql(
      `SELECT g.uuid FROM oauth_grants g JOIN accounts a ON a.id = g.account_id WHERE a.email = $1`,
      [customer.email],
    );
    await sendAccountForm(service.baseUrl, visitor, `/account/applications/${uuid}/end/`);
    const other = new HttpBrowser();
    await other.submitForm(at('/sign-in'), { email: customer.email });
    await sendAccountForm(service.baseUrl, visitor, '/account/sessions/end-others/');
    await other.submitForm(at('/sign-in'), { email: customer.email });
    await sendAccountForm(service.baseUrl, other, '/account/sign-out/');

    expect(await names(customer)).to.deep.equal([
      'signed_in',
      'key_created',
      'key_created',
      'key_revoked',
      'application_connected',
      'application_disconnected',
      'signed_in',
      'session_ended',
      'signed_in',
      'signed_out',
    ]);
    const events = await readEvents(service, customer.email);
    for (const { network } of events) expect(network).to.equal('127.0.0.1');
    expect(events[3]?.details).to.deep.equal({ name: 'my robot', prefix: created.body.prefix });
    expect(events[3]?.user_agent).to.include('Firefox');
    expect(JSON.stringify(events)).to.not.include(created.body.key);
    const text = await getPage(visitor);
    expect(text).to.include('API key “my robot”').and.to.include('Firefox on Linux').and.to.include('127.0.0.1');
    expect(text.indexOf('Signed out')).to.be.below(text.indexOf('my robot'));
    expect(text).to.include('<title>Security log · genmeter</title>');
  });

  it('records the revocation of a grant by its application and by the reuse of a token', async () => {
    const { customer } = await createVisitor(service);
    const client = await registerClient(service.baseUrl, { redirect_uris: ['https://client.example/callback'] });
    const first = await client.authorizeAndExchange(customer);
    const second = await client.refresh(first.refresh_token);
    await client.refresh(second.body.refresh_token);
    expect((await client.refresh(first.refresh_token)).body.error).to.equal('invalid_grant');
    const ended = (await readEvents(service, customer.email)).filter(
      ({ event }) => event === 'application_disconnected',
    );
    expect(ended.map(({ details }) => details['reason'])).to.deep.equal(['token_reuse']);
  });

  it('has pages without a count, of this account only, and rejects an invalid cursor', async () => {
    const [{ customer, visitor }, stranger] = [await createVisitor(service), await createVisitor(service)];
    await service.sql(
      `INSERT INTO security_events (account_id, event, network, user_agent, details, created_at)
       SELECT a.id, 'key_created', '192.0.2.1', '', jsonb_build_object('name', 'key ' || i, 'prefix', 'svc_'), now()
         FROM accounts a, generate_series(1, 45) i WHERE a.email = $1 ORDER BY i`,
      [customer.email],
    );
    const seen: string[] = [];
    let text = await getPage(visitor);
    for (let pages = 1; ; pages += 1) {
      seen.push(...[...text.matchAll(/“key (\d+)”/g)].map(([, number]) => number as string));
      const next = /\?before=(\d+)" rel="next"/.exec(text)?.[0].split('"')[0];
      if (next === undefined) {
        expect(pages).to.equal(3);
        break;
      }
      text = await getPage(visitor, next);
    }
    expect(seen).to.deep.equal(Array.from({ length: 45 }, (_, index) => String(45 - index)));
    expect(await getPage(stranger.visitor, '?before=999999999')).to.not.include('“key ');
    for (const cursor of ['0', '-1', 'x', '1e3', '', '9'.repeat(20)]) {
      expect((await visitor.request(at(`/account/security/?before=${cursor}`))).status, cursor).to.equal(400);
    }
  });

  it('cannot be changed, and is pruned after 400 days', async () => {
    const { customer } = await createVisitor(service);
    const change = `UPDATE security_events SET event = 'x' WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`;
    const error = await captureError(service.sql(change, [customer.email]));
    expect(error.message).to.include('append-only');
    await service.sql(
      `INSERT INTO security_events (account_id, event, network, user_agent, details, created_at)
       SELECT a.id, 'old ' || days, '', '', '{}', now() - make_interval(days => days)
         FROM accounts a, unnest(ARRAY[399, 401]) AS days WHERE a.email = $1`,
      [customer.email],
    );
    await pruneTable('security_events');
    expect(await names(customer))
      .to.include('old 399')
      .and.to.not.include('old 401');
  });

  it('contains staff commands without a network', async () => {
    const { customer } = await createVisitor(service);
    const { revokeAccountAccess } = await import('../../shared/domain/staff/accessActions.ts');
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
    await revokeAccountAccess(id, { kind: 'system', systemUser: 'test', reason: 'a report' });
    const last = (await readEvents(service, customer.email)).at(-1);
    expect(last).to.deep.equal({
      event: 'access_revoked',
      network: '',
      user_agent: '',
      details: { sessions: 1, keys: 1, grants: 0, webhooks: 0, invitations: 0 },
    });
    const visitor = createBrowserFor(customer);
    await visitor.submitForm(at('/sign-in'), { email: customer.email });
    expect(await getPage(visitor)).to.include('Support ended 1 session, 1 API key and 0 application grants');
  });
});

describe('the security log of sign-in methods', () => {
  let service: TestService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let github: Awaited<ReturnType<typeof startFakeGitHub>>;
  before(async () => {
    [google, github] = await Promise.all([startFakeGoogle(), startFakeGitHub()]);
    service = await startTestService({ workers: 0, env: { ...google.env, ...github.env } });
    await google.serve(service.baseUrl);
  });
  after(async () => {
    await service.stop();
    await Promise.all([google.fake.stop(), github.fake.stop()]);
  });

  it('contains linked and removed identities, and failed sign-ins to a known account', async () => {
    const origin = buildRequestOrigin('192.0.2.7', 'a browser', 'request-1', null);
    const owner = createPerson();
    const signedIn = await signInWithIdentity('google', claims(owner), null, origin);
    if (signedIn.problem !== null) throw new Error(signedIn.problem);
    const { id } = signedIn.person;
    const { token } = await createWebSession(id, origin, signedIn.identityUuid);
    // Another person at two providers, with the same address.
    const other = createPerson({ email: owner.email });
    for (const provider of ['google', 'github'] as const) {
      expect((await signInWithIdentity(provider, claims(other), null, origin)).problem).to.be.a('string');
    }
    await linkIdentity('github', claims(createPerson()), sha256(token), origin);
    await removeIdentity(id, signedIn.identityUuid, { currentToken: token, origin });
    const events = await readEvents(service, owner.email);
    expect(events.map(({ event, details }) => [event, details['provider'], details['problem']])).to.deep.equal([
      ['identity_linked', 'google', undefined],
      ['signed_in', 'google', undefined],
      ['sign_in_failed', 'google', 'taken'],
      ['sign_in_failed', 'github', 'other_provider'],
      ['identity_linked', 'github', undefined],
      ['identity_removed', 'google', undefined],
    ]);
    for (const { network, user_agent: userAgent } of events)
      expect([network, userAgent]).to.deep.equal(['192.0.2.7', 'a browser']);
  });
});
