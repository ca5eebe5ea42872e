import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { createVisitor, getPageWithForm } from '../harness/accountForms.ts';
import { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, getRedirectLocation, registerClient, submitConsent } from '../harness/oauthClient.ts';
import {
  type ProviderName,
  type ProviderSignIn,
  startLinking,
  startProviderSignIn,
} from '../harness/providerSignIn.ts';
import { buildPath, ROUTES } from '../harness/routes.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const PROTECTED = ROUTES.filter(({ served }) => served.recentSignIn !== undefined);

describe('changes of credentials', () => {
  let service: TestService;
  let owner: TestCustomer;
  before(async () => {
    // Any address enables test mode, in which nothing is generated here.
    service = await startTestService({ workers: 0, env: { TEST_UPSTREAM_URL: 'http://127.0.0.1:9' } });
    owner = await service.createCustomer('pro');
    await age(owner);
  });
  after(() => service.stop());

  /** Moves the sign-in of a customer into the past. */
  const age = ({ email }: TestCustomer) =>
    service.sql(
      `UPDATE sessions SET created_at = created_at - interval '16 minutes'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [email],
    );

  const createKey = (options: object) =>
    owner.requestWithSession('POST', '/api/keys/create/', { body: { name: 'a', ...options } });

  it('require a recent sign-in on these routes, and on no others', () => {
    expect(PROTECTED.map(({ name }) => name)).to.have.members([
      'POST /api/keys/create/',
      'PATCH /api/keys/:uuid/',
      'GET /api/webhooks/default/secret/',
      'POST /api/webhooks/default/rotate-secret/',
      'POST /api/webhooks/:uuid/rotate-secret/',
      'POST /api/affiliate/onboarding-link/',
      'PATCH /api/members/:uuid/',
      'POST /api/members/:uuid/remove/',
      'POST /api/members/:uuid/revoke-access/',
      'POST /api/members/:uuid/hand-over/',
      'POST /authentication/leave/',
      'GET /account/members/leave/',
      'POST /account/members/leave/',
      'POST /api/invitations/create/',
      'POST /api/invitations/:uuid/resend/',
      'POST /account/members/',
      'GET /account/members/:uuid/',
      'POST /account/members/:uuid/',
      'GET /account/members/:uuid/remove/',
      'POST /account/members/:uuid/remove/',
      'GET /account/members/:uuid/revoke-access/',
      'POST /account/members/:uuid/revoke-access/',
      'GET /account/members/:uuid/hand-over/',
      'POST /account/members/:uuid/hand-over/',
      'GET /account/members/invitations/:uuid/resend/',
      'POST /account/members/invitations/:uuid/resend/',
      'POST /account/keys/',
      'GET /account/keys/:uuid/',
      'POST /account/keys/:uuid/',
      'POST /account/webhooks/default/',
      'GET /account/webhooks/default/rotate/',
      'POST /account/webhooks/default/rotate/',
      'GET /account/webhooks/:uuid/rotate/',
      'POST /account/webhooks/:uuid/rotate/',
      'POST /account/identities/:provider/link/',
      'GET /account/identities/:uuid/remove/',
      'POST /account/identities/:uuid/remove/',
      'GET /account/sessions/:uuid/end/',
      'POST /account/sessions/:uuid/end/',
      'GET /account/sessions/end-others/',
      'POST /account/sessions/end-others/',
      'POST /account/payouts/',
      'GET /account/payouts/again',
      'POST /account/export/',
      'POST /account/delete/',
      'POST /authorize',
    ]);
  });

  for (const route of PROTECTED) {
    const { method, path, credential, served } = route;
    const address = path.replace(':provider', 'github').replace(':uuid', randomUUID());
    if (served.surface !== 'page') {
      it(`${method} ${path} rejects an old session with the sentence that helps, and admits an API key`, async () => {
        const body =
          path === '/api/members/:uuid/'
            ? { role: 'viewer' }
            : method === 'PATCH'
              ? { expires_at: null }
              : { name: 'a' };
        const options = method === 'GET' ? {} : { body };
        const { body: rejected } = await owner.requestWithSession(method, buildPath({ path }), options);
        expect(rejected.error).to.equal('insufficient_scope');
        expect(rejected.detail).to.include('within the last 15 minutes').and.to.include('/sign-in?again=yes');
        if (credential === 'cookie') return;
        const { status } = await owner.request(method, buildPath({ path }), options);
        expect(status).to.be.oneOf([200, 201, 400, 404]);
      });
      continue;
    }
    it(`${method} ${path} leads an old session to sign in again, and back`, async () => {
      const visitor = createBrowserFor(owner);
      const page = await visitor.request(`${service.baseUrl}/account/settings/`);
      const { fields } = findForm(page.text, '/account/profile/');
      const url = service.baseUrl + address;
      const submitted = { name: 'a', decision: 'allow' };
      const answer =
        method === 'GET' ? await visitor.request(url) : await visitor.submitForm(url, { ...fields, ...submitted });
      const query = new URLSearchParams({ again: 'yes', return_to: address });
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `/sign-in?${query.toString()}`]);
    });
  }

  it('are announced by the page of the deletion', async () => {
    const { text } = await createBrowserFor(owner).request(`${service.baseUrl}/account/delete/`);
    expect(text).to.include('Sign in again');
  });

  it('include allowing an application access, but not denying it, and the request survives the sign-in', async () => {
    const user = await service.createCustomer(null);
    await age(user);
    const client = await registerClient(service.baseUrl);
    const { verifier, challenge } = createPkce();
    const path = client.authorizePath(challenge, { state: 'an old "state"' });
    const denied = await submitConsent(service.baseUrl, user, path, 'deny');
    expect(new URL(getRedirectLocation(denied)).searchParams.get('error')).to.equal('access_denied');
    const allowed = await submitConsent(service.baseUrl, user, path);
    const toSignIn = new URL(getRedirectLocation(allowed), service.baseUrl);
    expect([allowed.status, toSignIn.pathname, toSignIn.searchParams.get('again')]).to.deep.equal([
      303,
      '/sign-in',
      'yes',
    ]);
    const [{ grants }] = await service.sql('SELECT count(*)::int AS grants FROM oauth_grants');
    expect(grants).to.equal(0);
    const visitor = createBrowserFor(user);
    const { fields } = findForm((await visitor.request(toSignIn)).text, '/sign-in');
    const signedIn = await visitor.submitForm(`${service.baseUrl}/sign-in`, { ...fields, email: user.email });
    const back = getRedirectLocation({ ...signedIn, body: signedIn.text });
    const cookie = `token=${visitor.cookie('token')}`;
    const fresh = new TestCustomer(service.baseUrl, user.email, cookie, user.key);
    const answer = new URL(getRedirectLocation(await submitConsent(service.baseUrl, fresh, back))).searchParams;
    expect(answer.get('state')).to.equal('an old "state"');
    expect((await client.exchangeCode(answer.get('code') ?? '', verifier)).status).to.equal(200);
  });

  it('are made by a session as before if its sign-in is recent', async () => {
    const fresh = await service.createCustomer('pro');
    expect((await fresh.requestWithSession('POST', '/api/keys/create/', { body: { name: 'a' } })).status).to.equal(201);
    expect((await fresh.requestWithSession('GET', '/api/webhooks/default/secret/')).status).to.equal(200);
    expect((await fresh.requestWithSession('POST', '/api/affiliate/enroll/', { body: {} })).status).to.equal(200);
    expect((await fresh.requestWithSession('POST', '/api/affiliate/onboarding-link/')).status).to.equal(200);
  });

  it('of test keys and of names need no recent sign-in, keys with any other options do', async () => {
    const created = await createKey({ mode: 'test' });
    expect(created.status).to.equal(201);
    const change = (body: object) => owner.requestWithSession('PATCH', `/api/keys/${created.body.uuid}/`, { body });
    expect((await change({ name: 'renamed' })).status).to.equal(200);
    expectError(await change({ scopes: null }), 'insufficient_scope');
    const limit = { credit_limit: { credits: 1_000_000_000, period: 'total' }, expires_at: '2099-01-01' };
    for (const options of [{}, limit, { scopes: ['svc:write'] }, { scopes: ['account'] }])
      expectError(await createKey(options), 'insufficient_scope');
  });

  it('keep the name of a key that was typed before the sign-in', async () => {
    const { customer, visitor } = await createVisitor(service);
    const action = '/account/keys/';
    const { text } = await visitor.request(service.baseUrl + getPageWithForm(action));
    await age(customer);
    const { status } = await visitor.submitForm(service.baseUrl + action, {
      ...findForm(text, action).fields,
      name: 'typed before',
    });
    expect(status).to.equal(303);
    expect((await visitor.request(service.baseUrl + action)).text).to.include('value="typed before"');
  });
});

describe('a sign-in method that was linked lately', () => {
  let site: ProviderSignIn;
  before(async () => {
    site = await startProviderSignIn();
  });
  after(() => site.stop());

  it('opens sessions that cannot change credentials for seven days, unless it is the first', async () => {
    site.google.fake.person = createPerson();
    site.github.fake.person = createPerson();
    const { baseUrl } = site.service;
    const readSecret = async (visitor: HttpBrowser) =>
      (await visitor.request(`${baseUrl}/api/webhooks/default/secret/`)).status;
    const readSecretBy = async (provider: ProviderName) => readSecret((await site.signIn(provider)).visitor);
    const { visitor: thief } = await site.signIn('google');
    expect(await readSecret(thief)).to.equal(200);
    await thief.navigate(await startLinking(baseUrl, thief, 'github'));
    expect(await readSecretBy('github')).to.equal(403);
    expect(await readSecretBy('google')).to.equal(200);
    const move = `UPDATE identities SET created_at = created_at - interval '7 days' WHERE provider = 'github'`;
    await site.service.sql(move);
    expect(await readSecretBy('github')).to.equal(200);
  });
});
