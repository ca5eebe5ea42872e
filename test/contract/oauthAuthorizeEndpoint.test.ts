import { expect } from 'chai';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import {
  submitConsent,
  loadConsentPage,
  getRedirectLocation,
  createPkce,
  OAuthTestClient,
  postUrlEncoded,
  REDIRECT_URI,
  registerClient,
} from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

describe('the authorization endpoint', () => {
  const service = useTestService({ workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  const { challenge } = createPkce();
  before(async () => {
    client = await registerClient(service.baseUrl, { client_name: 'Claude <b>Desktop</b>' });
    customer = await service.createCustomer(null);
  });

  const visit = (path: string, cookie = customer.cookie) =>
    request(service.baseUrl, 'GET', path, { headers: cookie === '' ? {} : { cookie } });

  /** Expects an error page without a redirect. */
  function expectPage(reply: Awaited<ReturnType<typeof visit>>, says: RegExp): void {
    expect([reply.status, reply.headers.get('location')]).to.deep.equal([400, null]);
    expect(reply.headers.get('content-type')).to.match(/^text\/html/);
    expect(reply.body).to.match(says);
  }

  /** Expects an error response at the client's redirect URI, with `iss`. */
  function expectClientError(reply: Awaited<ReturnType<typeof visit>>, error: string): void {
    // After a form, a page with a refresh takes the place of the redirect.
    expect(reply.status).to.equal(reply.headers.has('location') ? 303 : 200);
    const location = getRedirectLocation(reply);
    expect(location.startsWith(`${REDIRECT_URI}?`), location).to.equal(true);
    const response = Object.fromEntries(new URL(location).searchParams);
    expect(response).to.include({ error, iss: service.baseUrl });
    expect(response['error_description']).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(response['code']).to.equal(undefined);
  }

  describe('the client', () => {
    it('an unknown client gets an error page', async () => {
      for (const id of ['00000000-0000-4000-8000-000000000000', 'unknown', 'a\u0000b', 'x'.repeat(5_000), 'http://x/y'])
        expectPage(await visit(client.authorizePath(challenge, { client_id: id })), /not registered here/);
      expectPage(await visit(client.authorizePath(challenge, { client_id: undefined })), /client_id is missing/);
    });

    it('a response is never sent to an unregistered redirect URI (open redirect)', async () => {
      for (const redirect of [
        'https://evil.example/callback',
        `${REDIRECT_URI}/more`,
        `${REDIRECT_URI}?more=1`,
        `${REDIRECT_URI}#fragment`,
        'http://127.0.0.1:9/',
        'http://127.0.0.1:9@evil.example/callback',
        'http://127.0.0.1.evil.example:9/callback',
        'http://127.0.0.1:9/../callback',
        'http://localhost:9/callback',
        'http://[::1]:9/callback',
        'https://127.0.0.1:9/callback',
        'HTTP://127.0.0.1:9/callback',
        'http://2130706433:9/callback',
        'http://127.0.0.1:9\\@evil.example/callback',
        'javascript:alert(1)',
        '//evil.example/callback',
        '/account/',
        `${REDIRECT_URI}\r\nset-cookie: a=b`,
        'x'.repeat(5_000),
      ]) {
        expectPage(await visit(client.authorizePath(challenge, { redirect_uri: redirect })), /redirect_uri/);
      }
    });

    it('a repeated client_id or redirect_uri gets an error page', async () => {
      const path = client.authorizePath(challenge);
      expectPage(await visit(`${path}&client_id=x`), /client_id must not be repeated/);
      expectPage(await visit(`${path}&redirect_uri=https://evil.example/`), /redirect_uri must not be repeated/);
    });

    it('a loopback redirect URI may use any port and no other host', async () => {
      for (const [host, other] of [
        ['127.0.0.1', 'localhost'],
        ['[::1]', '127.0.0.1'],
        ['localhost', '127.0.0.1'],
      ]) {
        const local = await registerClient(service.baseUrl, { redirect_uris: [`http://${host}/cb`] });
        const at = (redirect: string) => visit(local.authorizePath(challenge, { redirect_uri: redirect }));
        for (const port of ['', ':1', ':65535']) expect((await at(`http://${host}${port}/cb`)).status).to.equal(200);
        for (const wrong of [`http://${host}:99999/cb`, `http://${host}:80/cb2`, `http://${other}/cb`])
          expectPage(await at(wrong), /redirect_uri/);
      }
    });

    it('an application with a private-use scheme is opened from a page that stays open', async () => {
      const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback?x=1';
      const app = await registerClient(service.baseUrl, { redirect_uris: [redirect] });
      const reply = await submitConsent(service.baseUrl, customer, app.authorizePath(challenge));
      // The page stays open while the browser opens the application.
      expect([reply.status, reply.headers.get('location')]).to.deep.equal([200, null]);
      expect(reply.body).to.include('<h1>One moment</h1>').and.include('<title>One moment');
      expect(reply.body).to.include('You can close this page afterwards').and.include('>Continue</a>');
      const denied = await submitConsent(service.baseUrl, customer, app.authorizePath(challenge), 'deny');
      expect(denied.body).to.include('You did not allow');
      expect(getRedirectLocation(reply)).to.match(
        /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?x=1&code=[0-9a-f]{64}&/,
      );
    });

    it('a client with one redirect URI may omit the parameter', async () => {
      const reply = await submitConsent(
        service.baseUrl,
        customer,
        client.authorizePath(challenge, { redirect_uri: undefined }),
      );
      expect(getRedirectLocation(reply).startsWith(`${REDIRECT_URI}?code=`)).to.equal(true);
      const two = await registerClient(service.baseUrl, { redirect_uris: [REDIRECT_URI, 'https://a.example/'] });
      expectPage(await visit(two.authorizePath(challenge, { redirect_uri: undefined })), /redirect_uri is missing/);
    });
  });

  describe('the request', () => {
    it('an invalid request returns an error to the client with state and iss', async () => {
      const wrong: [string, Record<string, string | undefined>][] = [
        ['invalid_request', { code_challenge: undefined }],
        ['invalid_request', { code_challenge_method: undefined }],
        ['invalid_request', { code_challenge_method: 'plain' }],
        ['invalid_request', { code_challenge_method: 's256' }],
        ['invalid_request', { code_challenge: 'short' }],
        ['invalid_request', { code_challenge: `${'x'.repeat(42)}=` }],
        ['invalid_request', { code_challenge: 'x'.repeat(4_000) }],
        ['invalid_request', { response_type: undefined }],
        ['unsupported_response_type', { response_type: 'token' }],
        ['unsupported_response_type', { response_type: 'code id_token' }],
        ['invalid_request', { response_mode: 'fragment' }],
        ['invalid_scope', { scope: 'svc:read admin' }],
        ['invalid_request', { scope: 'svc:read\u0000' }],
        ['invalid_scope', { scope: 'constructor' }],
        ['invalid_target', { resource: 'https://elsewhere.example/mcp' }],
        ['invalid_target', { resource: `${service.baseUrl}/mcp/more` }],
        ['invalid_target', { resource: `${service.baseUrl}/mcp?x` }],
        ['invalid_target', { resource: `${service.baseUrl.replace(/:\d+$/, '')}/mcp` }],
        ['invalid_target', { resource: `${service.baseUrl.replace('http:', 'https:')}/mcp` }],
        ['invalid_target', { resource: service.baseUrl }],
      ];
      for (const [error, changes] of wrong) {
        const reply = await visit(client.authorizePath(challenge, changes));
        expectClientError(reply, error);
        expect(new URL(getRedirectLocation(reply)).searchParams.get('state')).to.equal('a state');
      }
    });

    it('a repeated parameter is rejected, except resource', async () => {
      const path = client.authorizePath(challenge);
      for (const more of ['scope=svc:read&scope=svc:write', 'code_challenge=x', 'response_type=code', 'state=b'])
        expectClientError(await visit(`${path}&${more}`), 'invalid_request');
      const resource = encodeURIComponent(`${service.baseUrl}/mcp`);
      expect((await visit(`${path}&resource=${resource}&resource=${resource}%2F`)).status).to.equal(200);
      expectClientError(await visit(`${path}&resource=${resource}&resource=https://a.example`), 'invalid_target');
    });

    it('a request is validated only after sign-in, and visitors are never redirected to a client', async () => {
      for (const changes of [
        { scope: 'admin' },
        { client_id: 'unknown' },
        { prompt: 'none' },
        { response_type: undefined },
      ]) {
        const { status, headers } = await visit(client.authorizePath(challenge, changes), '');
        expect([status, headers.get('location')?.startsWith('/sign-in?')]).to.deep.equal([303, true]);
      }
    });

    it('an invalid request never redirects automatically to a remote URI or an application (open redirect)', async () => {
      for (const redirect of ['https://phish.example/login', 'vscode://phish.example/login']) {
        const distant = await registerClient(service.baseUrl, { redirect_uris: [redirect] });
        for (const changes of [{ scope: 'admin' }, { prompt: 'none' }, { response_type: undefined }]) {
          const page = await visit(distant.authorizePath(challenge, changes));
          expectPage(page, /Back to the application/);
          expect(page.body).to.include(`${redirect}?error=`).and.not.include('http-equiv="refresh"');
        }
      }
    });

    it('prompt=none returns consent_required, because users are asked every time', async () => {
      const path = client.authorizePath(challenge, { prompt: 'none' });
      expectClientError(await visit(path), 'consent_required');
      expect(
        (await visit(client.authorizePath(challenge, { prompt: 'consent select_account login' }))).status,
      ).to.equal(200);
    });

    it('any state is returned unchanged', async () => {
      const state = 'a&b=c#d "<>é\u{1F600}%00+ ';
      const reply = await client.authorize(customer, challenge, { state });
      expect(reply.get('state')).to.equal(state);
      expect((await client.authorize(customer, challenge, { state: undefined })).has('state')).to.equal(false);
    });

    it('a request without scopes gets both, and other requests get exactly the scopes that they name', async () => {
      expect((await client.authorizeAndExchange(customer)).scope).to.equal('svc:read svc:write');
      expect((await client.authorizeAndExchange(customer, { scope: 'svc:write svc:write' })).scope).to.equal(
        'svc:write',
      );
    });
  });

  describe('sign-in', () => {
    it('a visitor signs in first and returns to the request', async () => {
      const path = client.authorizePath(challenge, { state: 'x&return_to=https://evil.example' });
      for (const cookie of ['', 'token=unknown']) {
        const reply = await visit(path, cookie);
        expect(reply.status).to.equal(303);
        const location = new URL(getRedirectLocation(reply), service.baseUrl);
        expect([location.origin, location.pathname]).to.deep.equal([service.baseUrl, '/sign-in']);
        expect([...location.searchParams]).to.deep.equal([['return_to', path]]);
      }
    });

    it('a user can switch to another account', async () => {
      const someone = await service.createCustomer(null);
      const path = client.authorizePath(challenge);
      const reply = await submitConsent(service.baseUrl, someone, path, 'switch');
      expect(new URL(getRedirectLocation(reply), service.baseUrl).searchParams.get('return_to')).to.equal(path);
      expect(reply.headers.getSetCookie()[0]).to.match(/^token=;/);
      expect((await someone.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
    });

    it('a session that ended while the page was open requires sign-in', async () => {
      const someone = await service.createCustomer(null);
      const path = client.authorizePath(challenge);
      const { token } = await loadConsentPage(service.baseUrl, someone, path);
      await someone.requestWithSession('POST', '/authentication/logout/');
      const headers = { cookie: someone.cookie, origin: service.baseUrl };
      const reply = await postUrlEncoded(service.baseUrl, path, { csrf_token: token, decision: 'allow' }, headers);
      expect(getRedirectLocation(reply)).to.match(/^\/sign-in\?return_to=/);
    });
  });

  it('a malformed query never returns 500', async () => {
    for (const path of [
      '/authorize',
      '/authorize?',
      '/authorize?%',
      '/authorize?client_id=%ff%00',
      '/authorize?a=b&a=c',
    ]) {
      const { status } = await sendRawRequest(service.baseUrl, 'GET', path);
      expect(status, path).to.be.oneOf([303, 400]);
    }
    const unlike = await request(service.baseUrl, 'POST', client.authorizePath(challenge), {
      body: { decision: 'allow' },
    });
    expect(unlike.status).to.equal(400);
  });
});
