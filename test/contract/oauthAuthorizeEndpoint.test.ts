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
import { type TestService, startTestService } from '../harness/testService.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

describe('the authorization endpoint', () => {
  let service: TestService;
  let client: OAuthTestClient;
  let person: TestCustomer;
  const { challenge, verifier } = createPkce();
  before(async () => {
    service = await startTestService({ workers: 0 });
    client = await registerClient(service.baseUrl, { client_name: 'Claude <b>Desktop</b>' });
    person = await service.createCustomer(null);
  });
  after(() => service.stop());

  const visit = (path: string, cookie = person.cookie) =>
    request(service.baseUrl, 'GET', path, { headers: cookie === '' ? {} : { cookie } });
  const grants = async () => Number((await service.sql('SELECT count(*) FROM oauth_grants'))[0].count);

  /** Fails unless a person is told on a page, and nobody is redirected anywhere. */
  function expectPage(answer: Awaited<ReturnType<typeof visit>>, says: RegExp): void {
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([400, null]);
    expect(answer.headers.get('content-type')).to.match(/^text\/html/);
    expect(answer.body).to.match(says);
  }

  /** Fails unless the client is told at its own address, with its state and whose answer it is. */
  function expectToldClient(answer: Awaited<ReturnType<typeof visit>>, error: string): void {
    // After a form by a page that goes on by itself.
    expect(answer.status).to.equal(answer.headers.has('location') ? 303 : 200);
    const location = getRedirectLocation(answer);
    expect(location.startsWith(`${REDIRECT_URI}?`), location).to.equal(true);
    const told = Object.fromEntries(new URL(location).searchParams);
    expect(told).to.include({ error, iss: service.baseUrl });
    expect(told['error_description']).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(told['code']).to.equal(undefined);
  }

  describe('who asks', () => {
    it('must be a client that registered; otherwise a page says so', async () => {
      for (const id of ['00000000-0000-4000-8000-000000000000', 'nobody', 'a\u0000b', 'x'.repeat(5_000), 'http://x/y'])
        expectPage(await visit(client.authorizePath(challenge, { client_id: id })), /not registered here/);
      expectPage(await visit(client.authorizePath(challenge, { client_id: undefined })), /client_id is missing/);
    });

    it('is never answered at an address that it has not registered (foreign redirect, open redirect)', async () => {
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

    it('is not known where client_id or redirect_uri is repeated', async () => {
      const path = client.authorizePath(challenge);
      expectPage(await visit(`${path}&client_id=x`), /client_id must not be repeated/);
      expectPage(await visit(`${path}&redirect_uri=https://evil.example/`), /redirect_uri must not be repeated/);
    });

    it('may use any port of a loopback address, and no other host of one', async () => {
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

    it('may be an application with a scheme of its own', async () => {
      const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback?x=1';
      const app = await registerClient(service.baseUrl, { redirect_uris: [redirect] });
      const answer = await submitConsent(service.baseUrl, person, app.authorizePath(challenge));
      // A page that stays: the application opens beside the browser.
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([200, null]);
      expect(answer.body).to.include('You can close this page afterwards').and.include('>Continue</a>');
      const denied = await submitConsent(service.baseUrl, person, app.authorizePath(challenge), 'deny');
      expect(denied.body).to.include('You did not allow');
      expect(getRedirectLocation(answer)).to.match(
        /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?x=1&code=[0-9a-f]{64}&/,
      );
    });

    it('with one address only need not name it', async () => {
      const answer = await submitConsent(
        service.baseUrl,
        person,
        client.authorizePath(challenge, { redirect_uri: undefined }),
      );
      expect(getRedirectLocation(answer).startsWith(`${REDIRECT_URI}?code=`)).to.equal(true);
      const two = await registerClient(service.baseUrl, { redirect_uris: [REDIRECT_URI, 'https://a.example/'] });
      expectPage(await visit(two.authorizePath(challenge, { redirect_uri: undefined })), /redirect_uri is missing/);
    });
  });

  describe('what is asked', () => {
    it('must be right; otherwise the client is told, with state and iss', async () => {
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
        ['invalid_target', { resource: service.baseUrl }],
      ];
      for (const [error, changes] of wrong) {
        const answer = await visit(client.authorizePath(challenge, changes));
        expectToldClient(answer, error);
        expect(new URL(getRedirectLocation(answer)).searchParams.get('state')).to.equal('a state');
      }
    });

    it('must not be repeated, but for resource', async () => {
      const path = client.authorizePath(challenge);
      for (const more of ['scope=svc:read&scope=svc:write', 'code_challenge=x', 'response_type=code', 'state=b'])
        expectToldClient(await visit(`${path}&${more}`), 'invalid_request');
      const resource = encodeURIComponent(`${service.baseUrl}/mcp`);
      expect((await visit(`${path}&resource=${resource}&resource=${resource}%2F`)).status).to.equal(200);
      expectToldClient(await visit(`${path}&resource=${resource}&resource=https://a.example`), 'invalid_target');
    });

    it('is looked at when somebody has signed in, and not before: nobody is sent anywhere from here', async () => {
      for (const changes of [
        { scope: 'admin' },
        { client_id: 'nobody' },
        { prompt: 'none' },
        { response_type: undefined },
      ]) {
        const { status, headers } = await visit(client.authorizePath(challenge, changes), '');
        expect([status, headers.get('location')?.startsWith('/sign-in?')]).to.deep.equal([303, true]);
      }
    });

    it('and is wrong, sends nobody by itself to an address in the net or to an application (open redirect)', async () => {
      for (const redirect of ['https://phish.example/login', 'vscode://phish.example/login']) {
        const distant = await registerClient(service.baseUrl, { redirect_uris: [redirect] });
        for (const changes of [{ scope: 'admin' }, { prompt: 'none' }, { response_type: undefined }]) {
          const page = await visit(distant.authorizePath(challenge, changes));
          expectPage(page, /Back to the application/);
          expect(page.body).to.include(`${redirect}?error=`).and.not.include('http-equiv="refresh"');
        }
      }
    });

    it('with prompt=none is refused: people are always asked', async () => {
      const path = client.authorizePath(challenge, { prompt: 'none' });
      expectToldClient(await visit(path), 'consent_required');
      expect(
        (await visit(client.authorizePath(challenge, { prompt: 'consent select_account login' }))).status,
      ).to.equal(200);
    });

    it('passes any state through, however it is written', async () => {
      const state = 'a&b=c#d "<>é\u{1F600}%00+ ';
      const answer = await client.authorize(person, challenge, { state });
      expect(answer.get('state')).to.equal(state);
      expect((await client.authorize(person, challenge, { state: undefined })).has('state')).to.equal(false);
    });

    it('gives both scopes to who names none, and never more than was asked for', async () => {
      expect((await client.authorizeAndExchange(person)).scope).to.equal('svc:read svc:write');
      expect((await client.authorizeAndExchange(person, { scope: 'svc:write svc:write' })).scope).to.equal('svc:write');
    });
  });

  describe('signing in', () => {
    it('comes first, and leads back to the question', async () => {
      const path = client.authorizePath(challenge, { state: 'x&return_to=https://evil.example' });
      for (const cookie of ['', 'token=unknown']) {
        const answer = await visit(path, cookie);
        expect(answer.status).to.equal(303);
        const location = new URL(getRedirectLocation(answer), service.baseUrl);
        expect([location.origin, location.pathname]).to.deep.equal([service.baseUrl, '/sign-in']);
        expect([...location.searchParams]).to.deep.equal([['return_to', path]]);
      }
    });

    it('can be done anew, with another account', async () => {
      const someone = await service.createCustomer(null);
      const path = client.authorizePath(challenge);
      const answer = await submitConsent(service.baseUrl, someone, path, 'switch');
      expect(new URL(getRedirectLocation(answer), service.baseUrl).searchParams.get('return_to')).to.equal(path);
      expect(answer.headers.getSetCookie()[0]).to.match(/^token=;/);
      expect((await someone.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
    });

    it('again is needed where the session ended while the page was open', async () => {
      const someone = await service.createCustomer(null);
      const path = client.authorizePath(challenge);
      const { token } = await loadConsentPage(service.baseUrl, someone, path);
      await someone.requestWithSession('POST', '/authentication/logout/');
      const headers = { cookie: someone.cookie, origin: service.baseUrl };
      const answer = await postUrlEncoded(service.baseUrl, path, { csrf_token: token, decision: 'allow' }, headers);
      expect(getRedirectLocation(answer)).to.match(/^\/sign-in\?return_to=/);
    });
  });

  describe('the consent page', () => {
    it('names the client, where its answer goes, the account, and the scopes in plain words', async () => {
      const page = await visit(client.authorizePath(challenge, { scope: 'svc:read' }));
      expect(page.status).to.equal(200);
      expect(page.body).to.include('Claude &lt;b>Desktop&lt;/b>').and.include('127.0.0.1').and.include(person.email);
      expect(page.body).to.include('See your generations').and.not.include('Create images');
      expect((await visit(client.authorizePath(challenge))).body).to.include('Create images');
    });

    it('runs no script, is not framed or kept, and lets its form lead to the client alone', async () => {
      const { headers, body } = await visit(client.authorizePath(challenge));
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).to.include("default-src 'none'").and.include("frame-ancestors 'none'");
      // The client's address is gone on to by a page of its own.
      expect(policy).to.match(/form-action 'self';/);
      expect(headers.get('x-frame-options')).to.equal('DENY');
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(body).not.to.match(/<script|<style|\son\w+=|style=/i);
    });

    it('leads to the client with a code, or with access_denied', async () => {
      const allowed = await client.authorize(person, challenge);
      expect([...allowed.keys()]).to.deep.equal(['code', 'state', 'iss']);
      expect(allowed.get('iss')).to.equal(service.baseUrl);
      expectToldClient(
        await submitConsent(service.baseUrl, person, client.authorizePath(challenge), 'deny'),
        'access_denied',
      );
      const nothing = await submitConsent(service.baseUrl, person, client.authorizePath(challenge), 'perhaps');
      expect(nothing.status).to.equal(400);
    });

    it('leads there without telling anybody where from, so that no form is sent on, and nothing of it is kept', async () => {
      const page = await submitConsent(service.baseUrl, person, client.authorizePath(challenge));
      const redirect = await visit(client.authorizePath(challenge, { prompt: 'none' }));
      // 303 makes a GET of what was a form; 307 would send the form, with its token, to the client (RFC 9700, 4.12).
      expect([page.status, redirect.status]).to.deep.equal([200, 303]);
      expect(page.headers.get('referrer-policy')).to.equal('same-origin');
      expect(redirect.headers.get('referrer-policy')).to.equal('no-referrer');
      for (const { headers } of [page, redirect]) expect(headers.get('cache-control')).to.equal('no-store');
    });

    it('breaks a long name instead of running out of the card, and says what writing spends', async () => {
      const app = await registerClient(service.baseUrl, { client_name: 'x'.repeat(100) });
      const { body } = await visit(app.authorizePath(challenge));
      expect(body)
        .to.include(`Connect ${'x'.repeat(100)}?`)
        .and.match(/spends your credits \([\d,]+ left\)/);
      const { body: styles } = await visit('/assets/style.css');
      expect(styles).to.match(/main\.narrow \.card \{[^}]*overflow-wrap: anywhere/);
    });

    it('is asked every time, whatever was allowed before', async () => {
      await client.authorizeAndExchange(person);
      expect((await visit(client.authorizePath(challenge))).status).to.equal(200);
    });

    it('goes on to an IPv6 address by itself, which no policy for forms can name', async () => {
      const local = await registerClient(service.baseUrl, { redirect_uris: ['http://[::1]:9/cb'] });
      const answer = await submitConsent(service.baseUrl, person, local.authorizePath(challenge));
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([200, null]);
      const address = /content="0;url=([^"]+)"/.exec(answer.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const code = new URL(address).searchParams.get('code') as string;
      expect(address.startsWith('http://[::1]:9/cb?code=')).to.equal(true);
      expect((await local.exchangeCode(code, verifier)).status).to.equal(200);
    });
  });

  describe('an approval that the person did not give', () => {
    it("sent from another site's page, or by nobody's page, counts for nothing", async () => {
      const path = client.authorizePath(challenge);
      const { token } = await loadConsentPage(service.baseUrl, person, path);
      const stranger = await service.createCustomer(null);
      const foreign = await loadConsentPage(service.baseUrl, stranger, path);
      const before = await grants();
      const forged: [Record<string, string>, Record<string, string>][] = [
        [{ csrf_token: token, decision: 'allow' }, { origin: 'https://evil.example' }],
        [{ csrf_token: token, decision: 'allow' }, { origin: 'null' }],
        [{ csrf_token: token, decision: 'allow' }, {}],
        [{ decision: 'allow' }, { origin: service.baseUrl }],
        [{ csrf_token: 'x', decision: 'allow' }, { origin: service.baseUrl }],
        [{ csrf_token: foreign.token, decision: 'allow' }, { origin: service.baseUrl }],
      ];
      for (const [fields, headers] of forged) {
        const answer = await postUrlEncoded(service.baseUrl, path, fields, { cookie: person.cookie, ...headers });
        expect([answer.status, answer.headers.get('location')]).to.deep.equal([403, null]);
      }
      expect(await grants()).to.equal(before);
    });

    it('cannot be had by GET, nor with an API key', async () => {
      const before = await grants();
      const path = client.authorizePath(challenge, { decision: 'allow' });
      expect((await visit(path)).status).to.equal(200);
      const answer = await person.request('POST', path, {
        rawBody: 'decision=allow',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: service.baseUrl },
      });
      expect(getRedirectLocation(answer)).to.match(/^\/sign-in/);
      expect(await grants()).to.equal(before);
    });
  });

  it('never answers 500, whatever is in the address', async () => {
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
