import { expect } from 'chai';
import { request, type TestCustomer } from '../harness/apiClient.ts';
import {
  createPkce,
  getRedirectLocation,
  loadConsentPage,
  type OAuthTestClient,
  postUrlEncoded,
  REDIRECT_URI,
  registerClient,
  submitConsent,
} from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

describe('the OAuth consent page', () => {
  const service = useTestService({ workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  const { challenge, verifier } = createPkce();
  before(async () => {
    client = await registerClient(service.baseUrl, { client_name: 'Claude <b>Desktop</b>' });
    customer = await service.createCustomer(null);
  });

  const visit = (path: string) => request(service.baseUrl, 'GET', path, { headers: { cookie: customer.cookie } });
  const grants = async () => Number((await service.sql('SELECT count(*) FROM oauth_grants'))[0].count);

  it('the consent page shows the client, the redirect host, the account and the scopes', async () => {
    const page = await visit(client.authorizePath(challenge, { scope: 'svc:read' }));
    expect(page.status).to.equal(200);
    expect(page.body).to.include('Claude &lt;b>Desktop&lt;/b>').and.include('127.0.0.1').and.include(customer.email);
    expect(page.body).to.include('See your generations').and.not.include('Create images');
    // It registered itself, under a name of its choice.
    expect(page.body).to.include('>Not verified</span> The application chose this name itself.');
    expect((await visit(client.authorizePath(challenge))).body).to.include('Create images');
  });

  it('the consent page runs no script, cannot be framed or cached, and submits its form only to this service', async () => {
    const { headers, body } = await visit(client.authorizePath(challenge));
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).to.include("default-src 'none'").and.include("frame-ancestors 'none'");
    // The redirect to the client happens on a page of its own.
    expect(policy).to.match(/form-action 'self';/);
    expect(headers.get('x-frame-options')).to.equal('DENY');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(body).not.to.match(/<script|<style|\son\w+=|style=/i);
  });

  it('a decision returns a code or access_denied to the client', async () => {
    const allowed = await client.authorize(customer, challenge);
    expect([...allowed.keys()]).to.deep.equal(['code', 'state', 'iss']);
    expect(allowed.get('iss')).to.equal(service.baseUrl);
    const denied = await submitConsent(service.baseUrl, customer, client.authorizePath(challenge), 'deny');
    expect([denied.status, denied.headers.has('location')]).to.deep.equal([200, false]);
    const location = new URL(getRedirectLocation(denied));
    expect(`${location.origin}${location.pathname}`).to.equal(REDIRECT_URI);
    expect(Object.fromEntries(location.searchParams)).to.include({ error: 'access_denied', iss: service.baseUrl });
    expect(location.searchParams.get('error_description')).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(location.searchParams.has('code')).to.equal(false);
    const nothing = await submitConsent(service.baseUrl, customer, client.authorizePath(challenge), 'perhaps');
    expect(nothing.status).to.equal(400);
  });

  it('the return to the client sends no referrer, repeats no form and is not cached', async () => {
    const page = await submitConsent(service.baseUrl, customer, client.authorizePath(challenge));
    const redirect = await visit(client.authorizePath(challenge, { prompt: 'none' }));
    // After a 303 the browser sends GET; after a 307 it would repeat the form, with its token, to the client (RFC 9700,
    // 4.12).
    expect([page.status, redirect.status]).to.deep.equal([200, 303]);
    expect(page.headers.get('referrer-policy')).to.equal('same-origin');
    expect(redirect.headers.get('referrer-policy')).to.equal('no-referrer');
    for (const { headers } of [page, redirect]) expect(headers.get('cache-control')).to.equal('no-store');
  });

  it('the consent page wraps a long name and shows the credits that writing spends', async () => {
    const app = await registerClient(service.baseUrl, { client_name: 'x'.repeat(100) });
    const { body } = await visit(app.authorizePath(challenge));
    expect(body)
      .to.include(`Connect ${'x'.repeat(100)}?`)
      .and.match(/spends your credits \([\d,]+ left\)/);
    const { body: styles } = await visit('/assets/style.css');
    expect(styles).to.match(/\.narrow main \.card \{[^}]*overflow-wrap: anywhere/);
  });

  it('the consent page is shown every time, even after an earlier approval', async () => {
    await client.authorizeAndExchange(customer);
    expect((await visit(client.authorizePath(challenge))).status).to.equal(200);
  });

  it('a decision returns to an IPv6 loopback address, which form-action cannot name', async () => {
    const local = await registerClient(service.baseUrl, { redirect_uris: ['http://[::1]:9/cb'] });
    const response = await submitConsent(service.baseUrl, customer, local.authorizePath(challenge));
    expect([response.status, response.headers.get('location')]).to.deep.equal([200, null]);
    const address = /content="0;url=([^"]+)"/.exec(response.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const code = new URL(address).searchParams.get('code') as string;
    expect(address.startsWith('http://[::1]:9/cb?code=')).to.equal(true);
    expect((await local.exchangeCode(code, verifier)).status).to.equal(200);
  });

  describe('a forged approval', () => {
    it('an approval from another site or without a valid token creates no grant', async () => {
      const path = client.authorizePath(challenge);
      const { token } = await loadConsentPage(service.baseUrl, customer, path);
      const otherCustomer = await service.createCustomer(null);
      const foreign = await loadConsentPage(service.baseUrl, otherCustomer, path);
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
        const response = await postUrlEncoded(service.baseUrl, path, fields, { cookie: customer.cookie, ...headers });
        expect([response.status, response.headers.get('location')]).to.deep.equal([403, null]);
      }
      expect(await grants()).to.equal(before);
    });

    it('an approval by GET or with an API key creates no grant', async () => {
      const before = await grants();
      const path = client.authorizePath(challenge, { decision: 'allow' });
      expect((await visit(path)).status).to.equal(200);
      const response = await customer.request('POST', path, {
        rawBody: 'decision=allow',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: service.baseUrl },
      });
      expect(getRedirectLocation(response)).to.match(/^\/sign-in/);
      expect(await grants()).to.equal(before);
    });
  });
});
