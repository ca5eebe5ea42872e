import { expect } from 'chai';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import {
  decodeClaims,
  getRedirectLocation,
  createPkce,
  OAuthTestClient,
  postUrlEncoded,
  registerClient,
} from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { countOccurrences } from '../harness/errorEnvelope.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

describe('the token endpoint', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  before(async () => {
    client = await registerClient(service.baseUrl);
    customer = await service.createCustomer(null);
  });

  /** Obtains a code with its verifier. */
  async function newCode(changes: Record<string, string | undefined> = {}) {
    const { verifier, challenge } = createPkce();
    const code = (await client.authorize(customer, challenge, changes)).get('code') as string;
    return { code, verifier, exchange: (other = {}) => client.exchangeCode(code, verifier, other) };
  }
  const token = (fields: Record<string, string> | [string, string][], headers = {}) =>
    postUrlEncoded(service.baseUrl, '/token', fields, headers);
  const isAlive = async (refreshToken: string) => (await client.refresh(refreshToken)).status === 200;

  describe('code exchange', () => {
    it('a code exchange returns an RS256 JWT for {base_url}/mcp, valid for an hour, and a refresh token, uncached', async () => {
      const { exchange } = await newCode({ scope: 'svc:read' });
      const { status, body, headers } = await exchange();
      expect(status).to.equal(200);
      expect(Object.keys(body)).to.have.members(['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope']);
      expect(body).to.include({ token_type: 'Bearer', expires_in: 3_600, scope: 'svc:read' });
      expect([headers.get('cache-control'), headers.get('pragma')]).to.deep.equal(['no-store', 'no-cache']);
      const header = JSON.parse(Buffer.from(body.access_token.split('.')[0], 'base64url').toString());
      expect(header).to.include({ alg: 'RS256', typ: 'at+jwt' });
      const claims = decodeClaims(body.access_token);
      const [{ uuid }] = (await service.sql('SELECT uuid FROM accounts WHERE email = $1', [customer.email])) as any;
      expect(claims).to.include({
        iss: service.baseUrl,
        aud: `${service.baseUrl}/mcp`,
        sub: uuid,
        client_id: client.clientId,
        scope: 'svc:read',
      });
      expect(claims.exp - claims.iat).to.equal(3_600);
    });

    it('the database stores hashes of codes and refresh tokens, never their text', async () => {
      const { code, exchange } = await newCode();
      const { refresh_token: refreshToken } = (await exchange()).body;
      const dump = await service.sql(
        'SELECT c::text AS row FROM oauth_codes c UNION ALL SELECT t::text FROM oauth_refresh_tokens t',
      );
      const text = dump.map(({ row }) => row).join('\n');
      for (const secret of [code, refreshToken]) {
        expect(text).not.to.include(secret);
        expect(text).not.to.include(Buffer.from(secret).toString('hex'));
      }
    });

    it('a wrong verifier is rejected and consumes the code', async () => {
      const { code, exchange } = await newCode();
      expectOAuthError(await client.exchangeCode(code, createPkce().verifier), 'invalid_grant');
      expectOAuthError(await exchange(), 'invalid_grant');
    });

    it('a missing or malformed verifier is rejected and leaves the code valid', async () => {
      const { code, exchange } = await newCode();
      for (const verifier of ['', 'short', 'x'.repeat(129), `${'x'.repeat(42)}é`])
        expectOAuthError(await client.exchangeCode(code, verifier), 'invalid_request');
      expect((await exchange()).status).to.equal(200);
    });

    it('a challenge is rejected as its own verifier (plain)', async () => {
      const { challenge } = createPkce();
      const code = (await client.authorize(customer, challenge)).get('code') as string;
      expectOAuthError(await client.exchangeCode(code, challenge), 'invalid_grant');
    });

    it('a code exchange with another redirect_uri is rejected', async () => {
      const { exchange } = await newCode();
      expectOAuthError(await exchange({ redirect_uri: 'http://127.0.0.1:9/elsewhere' }), 'invalid_grant');
    });

    it('a code of another client is rejected and stays valid for its own client', async () => {
      const other = await registerClient(service.baseUrl);
      const { code, verifier, exchange } = await newCode();
      expectOAuthError(await other.exchangeCode(code, verifier), 'invalid_grant');
      expect((await exchange()).status).to.equal(200);
    });

    it('a code is rejected after 60 seconds', async () => {
      const { exchange } = await newCode();
      await service.sql(`UPDATE oauth_codes SET expires_at = expires_at - interval '60 seconds' WHERE used_at IS NULL`);
      expectOAuthError(await exchange(), 'invalid_grant');
    });

    it('a replayed code is rejected and revokes its grant', async () => {
      const { exchange } = await newCode();
      const { body } = await exchange();
      expect(await isAlive(body.refresh_token)).to.equal(true);
      expectOAuthError(await exchange(), 'invalid_grant');
      expect(await isAlive(body.refresh_token)).to.equal(false);
    });

    it('of 20 simultaneous exchanges on two processes one succeeds, and the replays revoke its grant', async () => {
      const { code, verifier } = await newCode();
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).exchangeCode(code, verifier)),
      );
      expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 1, 400: 19 });
      const winner = responses.find(({ status }) => status === 200)!;
      expect(await isAlive(winner.body.refresh_token)).to.equal(false);
      const [tokens] = (await service.sql(
        'SELECT count(*)::int AS count FROM oauth_refresh_tokens WHERE grant_uuid = $1',
        [decodeClaims(winner.body.access_token).grant],
      )) as any;
      expect(tokens.count).to.equal(1);
    });

    it('resource must be /mcp of this service, with or without a trailing slash', async () => {
      for (const resource of [
        `${service.baseUrl}/mcp`,
        `${service.baseUrl}/mcp/`,
        `${service.baseUrl.replace('http', 'HTTP')}/mcp`,
      ])
        expect((await (await newCode({ resource })).exchange({ resource })).status).to.equal(200);
      const { exchange } = await newCode();
      expectOAuthError(await (await newCode()).exchange({ resource: `${service.baseUrl}/MCP` }), 'invalid_target');
      const elsewhere = await exchange({ resource: 'https://elsewhere.example/mcp' });
      expectOAuthError(elsewhere, 'invalid_target');
      expect(elsewhere.body.error_description).to.equal(
        `resource must be ${service.baseUrl}/mcp or ${service.baseUrl}/api/ here.`,
      );
      expect((await exchange()).status).to.equal(200);
    });
  });

  describe('invalid requests', () => {
    it('an invalid request returns the error of RFC 6749 and never 500', async () => {
      const id = client.clientId;
      const unknown = '00000000-0000-4000-8000-000000000000';
      const cases: [string, number, Record<string, string> | [string, string][]][] = [
        ['invalid_request', 400, {}],
        ['invalid_request', 400, { grant_type: 'authorization_code' }],
        ['invalid_request', 400, { grant_type: 'authorization_code', client_id: id }],
        ['invalid_request', 400, { grant_type: 'refresh_token', client_id: id }],
        ['unsupported_grant_type', 400, { grant_type: 'password', client_id: id, username: 'a', password: 'b' }],
        ['unsupported_grant_type', 400, { grant_type: 'client_credentials', client_id: id }],
        ['unsupported_grant_type', 400, { grant_type: '__proto__', client_id: id }],
        ['invalid_grant', 400, { grant_type: 'refresh_token', client_id: id, refresh_token: 'unknown' }],
        ['invalid_request', 400, { grant_type: 'refresh_token', client_id: id, refresh_token: 'a\u0000b' }],
        ['invalid_client', 401, { grant_type: 'refresh_token', client_id: unknown, refresh_token: 'unknown' }],
        ['invalid_client', 401, { grant_type: 'refresh_token', client_id: 'a b', refresh_token: 'unknown' }],
        [
          'invalid_client',
          401,
          { grant_type: 'refresh_token', client_id: id, refresh_token: 'x', client_assertion: 'y' },
        ],
        [
          'invalid_request',
          400,
          [
            ['grant_type', 'refresh_token'],
            ['grant_type', 'refresh_token'],
          ],
        ],
        [
          'invalid_request',
          400,
          [
            ['grant_type', 'refresh_token'],
            ['client_id', id],
            ['client_id', id],
          ],
        ],
        ['invalid_grant', 400, { grant_type: 'refresh_token', client_id: id, refresh_token: 'x'.repeat(10_000) }],
        ['invalid_request', 400, { 'grant_type[]': 'refresh_token', client_id: id }],
      ];
      for (const [code, status, fields] of cases) {
        expectOAuthError(await token(fields), code, status);
      }
      for (const clientId of ['\u0000', 'x'.repeat(9_000), "' OR 1=1 --", 'https://elsewhere.example/client.json']) {
        const response = await token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: 'unknown' });
        expect(response.body.error, clientId.slice(0, 20)).to.be.oneOf(['invalid_client', 'invalid_request']);
        expect(response.status).to.be.oneOf([400, 401]);
      }
    });

    it('a control character in any parameter returns invalid_request at /token, /revoke and /authorize', async () => {
      const { challenge } = createPkce();
      const forms: [string, Record<string, string>][] = [
        ['/token', { grant_type: 'refresh_token', client_id: client.clientId, refresh_token: 'x', scope: '' }],
        [
          '/token',
          {
            grant_type: 'authorization_code',
            client_id: client.clientId,
            code: 'x',
            code_verifier: 'x'.repeat(43),
            redirect_uri: client.redirectUri,
          },
        ],
        ['/revoke', { token: 'x', client_id: client.clientId, token_type_hint: 'refresh_token' }],
      ];
      for (const [path, fields] of forms) {
        for (const name of [...Object.keys(fields), 'resource', 'other']) {
          const response = await postUrlEncoded(service.baseUrl, path, {
            ...fields,
            [name]: `${fields[name] ?? ''}\u0000`,
          });
          expectOAuthError(response, 'invalid_request');
          expect(response.body.error_description).to.include(name);
        }
        for (const control of ['\u0001', '\n', '\u001f', '\u007f', '\u0085'])
          expectOAuthError(
            await postUrlEncoded(service.baseUrl, path, { ...fields, client_id: `a${control}b` }),
            'invalid_request',
          );
        expectOAuthError(await postUrlEncoded(service.baseUrl, path, { ...fields, 'a\u0000': 'x' }), 'invalid_request');
      }
      const headers = { cookie: customer.cookie };
      for (const name of ['response_type', 'scope', 'state', 'code_challenge', 'prompt', 'resource', 'other']) {
        const asked = client.authorizePath(challenge, { [name]: '\u0000' });
        const response = await request(service.baseUrl, 'GET', asked, { headers });
        expect(new URL(getRedirectLocation(response)).searchParams.get('error'), name).to.equal('invalid_request');
      }
      // Errors in these parameters never redirect.
      for (const name of ['client_id', 'redirect_uri']) {
        const asked = client.authorizePath(challenge, { [name]: '\u0000' });
        const response = await request(service.baseUrl, 'GET', asked, { headers });
        expect([response.status, response.headers.get('location')], name).to.deep.equal([400, null]);
      }
    });

    it('only forms within the size limit are accepted', async () => {
      const json = await request(service.baseUrl, 'POST', '/token', { body: { grant_type: 'refresh_token' } });
      expectOAuthError(json, 'invalid_request');
      const nothing = await request(service.baseUrl, 'POST', '/token');
      expectOAuthError(nothing, 'invalid_request');
      expectOAuthError(
        await token({ grant_type: 'refresh_token', padding: 'x'.repeat(17_000) }),
        'invalid_request',
        413,
      );
      const list = await sendRawRequest(service.baseUrl, 'POST', '/token', {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: '--x--',
      });
      expectOAuthError(list, 'invalid_request');
    });

    it('client authentication is rejected, because clients are public', async () => {
      const authorization = `Basic ${Buffer.from(`${client.clientId}:secret`).toString('base64')}`;
      const response = await token({ grant_type: 'refresh_token', refresh_token: 'x' }, { authorization });
      expectOAuthError(response, 'invalid_client', 401);
      expect(response.headers.get('www-authenticate')).to.match(/^Basic /);
    });

    it('other methods return 404 with Allow', async () => {
      const response = await request(service.baseUrl, 'GET', '/token');
      expect([response.status, response.headers.get('allow')]).to.deep.equal([404, 'POST']);
    });
  });
});
