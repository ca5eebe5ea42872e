import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { expect } from 'chai';
import { startBearerApp } from '../harness/bearerApp.ts';
import { type ApiResponse, type TestCustomer, request } from '../harness/apiClient.ts';
import { decodeClaims, type OAuthTestClient, registerClient } from '../harness/oauthClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decodeHeader = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());

describe('MCP credentials', () => {
  let service: TestService;
  let client: OAuthTestClient;
  let customer: TestCustomer;
  let app: Awaited<ReturnType<typeof startBearerApp>>;
  let tokens: { access_token: string; refresh_token: string };
  let privateKey: string;
  before(async () => {
    service = await startTestService({ workers: 0 });
    app = await startBearerApp();
    client = await registerClient(service.baseUrl);
    customer = await service.createCustomer(null);
    tokens = await client.authorizeAndExchange(customer);
    [{ private_key: privateKey }] = (await service.sql('SELECT private_key FROM oauth_signing_keys')) as any;
  });
  after(async () => {
    app.server.close();
    app.server.closeAllConnections();
    await service.stop();
  });

  const get = (credential: string, method = 'GET') =>
    request(app.url, method, '/', { headers: { authorization: `Bearer ${credential}` } });
  const metadata = () => `resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource"`;
  /** Signs a copy of an issued token with changed claims or header. @param key default: the service's own key. */
  const forge = (claims: object = {}, header: object = {}, key = privateKey) => {
    const input = `${encode({ ...decodeHeader(tokens.access_token), ...header })}.${encode({ ...decodeClaims(tokens.access_token), ...claims })}`;
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
  };
  function expectRefused(response: ApiResponse, says: RegExp): void {
    expectError(response, 'invalid_api_key');
    expect(response.body.detail).to.match(says);
    expect(response.headers.get('www-authenticate')).to.equal(
      `Bearer ${metadata()}, error="invalid_token", scope="svc:read svc:write"`,
    );
  }

  it('a token authenticates the account that approved it, with the approved scopes', async () => {
    const [{ id }] = (await service.sql('SELECT id::int FROM accounts WHERE email = $1', [customer.email])) as any;
    const both = await get(tokens.access_token);
    expect(both.body).to.deep.equal({ accountId: id, credential: 'token', scopes: ['svc:read', 'svc:write'] });
    const narrow = await client.authorizeAndExchange(customer, { scope: 'svc:read' });
    expect((await get(narrow.access_token)).body.scopes).to.deep.equal(['svc:read']);
  });

  it('an API key has both scopes in either header', async () => {
    expect((await get(customer.key)).body).to.include({ credential: 'key' });
    expect((await get(customer.key, 'POST')).body.scopes).to.deep.equal(['svc:read', 'svc:write']);
    const inHeader = await request(app.url, 'GET', '/', { headers: { 'x-api-key': customer.key } });
    expect(inHeader.body).to.include({ credential: 'key' });
    const both = await request(app.url, 'GET', '/', {
      headers: { 'x-api-key': customer.key, authorization: `Bearer ${tokens.access_token}` },
    });
    expectRefused(both, /different keys/);
  });

  it('the use of a token updates last_used_at of its grant', async () => {
    const mine = await client.authorizeAndExchange(customer);
    const { grant } = decodeClaims(mine.access_token);
    await service.sql(`UPDATE oauth_grants SET last_used_at = now() - interval '1 hour' WHERE uuid = $1`, [grant]);
    await get(mine.access_token);
    // The update is sent with the response, so a later query on the same connections sees it.
    const until = Date.now() + 5_000;
    const age = async () =>
      (
        await service.sql('SELECT extract(epoch FROM now() - last_used_at) AS s FROM oauth_grants WHERE uuid = $1', [
          grant,
        ])
      )[0].s;
    while (Number(await age()) > 60 && Date.now() < until) await get(mine.access_token);
    expect(Number(await age())).to.be.below(60);
  });

  describe('invalid credentials', () => {
    it('a token without a signature is rejected: alg none, in any spelling', async () => {
      const [, payload] = tokens.access_token.split('.');
      for (const alg of ['none', 'None', 'NONE']) {
        for (const header of [
          { alg, typ: 'at+jwt' },
          { ...decodeHeader(tokens.access_token), alg },
        ]) {
          expectRefused(await get(`${encode(header)}.${payload}.`), /neither an access token/);
          expectRefused(await get(`${encode(header)}.${payload}.AA`), /not signed with a key/);
        }
      }
      expectRefused(await get(tokens.access_token.replace(/[^.]+$/, '')), /neither an access token/);
    });

    it('a token signed by HS256 with the public key as its secret is rejected', async () => {
      const pem = createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' });
      const [, payload] = tokens.access_token.split('.');
      const input = `${encode({ ...decodeHeader(tokens.access_token), alg: 'HS256' })}.${payload}`;
      const mac = createHmac('sha256', pem).update(input).digest('base64url');
      expectRefused(await get(`${input}.${mac}`), /not signed with a key/);
      // The same under the header of an issued token.
      const own = `${tokens.access_token.split('.')[0]}.${payload}`;
      expectRefused(await get(`${own}.${createHmac('sha256', pem).update(own).digest('base64url')}`), /signature/);
    });

    it('a token with a foreign signature or changed claims is rejected', async () => {
      const otherCustomer = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
      const foreign = otherCustomer.export({ type: 'pkcs8', format: 'pem' }) as string;
      expectRefused(await get(forge({}, {}, foreign)), /signature/);
      const [header, , signature] = tokens.access_token.split('.');
      const changed = encode({ ...decodeClaims(tokens.access_token), scope: 'svc:read svc:write admin' });
      expectRefused(await get(`${header}.${changed}.${signature}`), /signature/);
      expectRefused(await get(forge({}, { kid: 'unknown' })), /not signed with a key/);
      expectRefused(await get(forge({}, { jwk: { kty: 'oct', k: 'AA' } })), /not signed with a key/);
    });

    it('a token of another type, audience or issuer, or an expired one, is rejected', async () => {
      expectRefused(await get(forge({}, { typ: 'JWT' })), /not signed with a key/);
      expectRefused(await get(forge({ aud: 'https://elsewhere.example/mcp' })), /not for/);
      expectRefused(await get(forge({ aud: service.baseUrl })), /not for/);
      expectRefused(await get(forge({ iss: 'https://elsewhere.example' })), /another issuer/);
      expectRefused(await get(forge({ exp: Math.floor(Date.now() / 1_000) - 1 })), /expired/);
      expectRefused(await get(forge({ exp: undefined })), /expired/);
      expectRefused(await get(forge({ sub: undefined })), /lacks a claim/);
      expect((await get(forge({ aud: `${service.baseUrl}/mcp/` }))).status).to.equal(200);
      expectRefused(await get(tokens.refresh_token), /neither an access token/);
    });

    it('a cached token is rejected once it has expired', async () => {
      const short = forge({ exp: Math.floor(Date.now() / 1_000) + 2 });
      expect((await get(short)).status).to.equal(200);
      let response = await get(short);
      while (response.status === 200) response = await get(short);
      expectRefused(response, /expired/);
      expect(decodeClaims(short).exp * 1_000).to.be.at.most(Date.now());
    });

    it('a malformed credential is rejected', async () => {
      for (const credential of ['x', 'a.b', 'a.b.c.d', '..', 'x'.repeat(9_000), 'svc_short', `${'a.'.repeat(2_000)}b`])
        expectRefused(await get(credential), /JWT|key/);
      const basic = await request(app.url, 'GET', '/', { headers: { authorization: 'Basic eDp5' } });
      expectRefused(basic, /Bearer/);
    });
  });
});
