import { expect } from 'chai';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import {
  decodeClaims,
  getRedirectLocation,
  createPkce,
  OAuthTestClient,
  postUrlEncoded,
  REDIRECT_URI,
  registerClient,
} from '../harness/oauthClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';
import { countOccurrences } from '../harness/errorEnvelope.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

const DAY_SECONDS = 86_400;

const expectOAuthError = ({ status, body, headers }: any, code: string, expected = 400) => {
  expect([status, body.error], JSON.stringify(body)).to.deep.equal([expected, code]);
  expect(Object.keys(body)).to.have.members(['error', 'error_description']);
  // RFC 6749, 5.2: no quotes, no backslashes, no letters beyond ASCII.
  expect(body.error_description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(headers.get('cache-control')).to.equal('no-store');
};

/** Reads the applications from the account page, each with the path that disconnects it. */
const listApplications = async (someone: TestCustomer): Promise<{ page: string; path: string; token: string }[]> => {
  const page = await someone.requestWithSession('GET', '/account/');
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  return [...page.body.matchAll(/href="(\/account\/applications\/[^"]+)"/g)].map(([, path]) => ({
    page: page.body,
    path: path as string,
    token,
  }));
};

describe('the token endpoint', () => {
  let service: TestService;
  let client: OAuthTestClient;
  let person: TestCustomer;
  before(async () => {
    service = await startTestService({ apis: 2, workers: 0 });
    client = await registerClient(service.baseUrl);
    person = await service.createCustomer(null);
  });
  after(() => service.stop());

  /** Obtains a code with its verifier. */
  async function newCode(changes: Record<string, string | undefined> = {}) {
    const { verifier, challenge } = createPkce();
    const code = (await client.authorize(person, challenge, changes)).get('code') as string;
    return { code, verifier, exchange: (other = {}) => client.exchangeCode(code, verifier, other) };
  }
  const token = (fields: Record<string, string> | [string, string][], headers = {}) =>
    postUrlEncoded(service.baseUrl, '/token', fields, headers);
  const revoke = (fields: Record<string, string>) => postUrlEncoded(service.baseUrl, '/revoke', fields);
  const isAlive = async (refreshToken: string) => (await client.refresh(refreshToken)).status === 200;
  const age = (token: string, seconds: number) =>
    service.sql(
      `UPDATE oauth_refresh_tokens SET used_at = used_at - make_interval(secs => $2)
        WHERE token_hash = sha256(convert_to($1, 'UTF8'))`,
      [token, seconds],
    );

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
      const [{ uuid }] = (await service.sql('SELECT uuid FROM accounts WHERE email = $1', [person.email])) as any;
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
      const code = (await client.authorize(person, challenge)).get('code') as string;
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
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).exchangeCode(code, verifier)),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 200: 1, 400: 19 });
      const winner = answers.find(({ status }) => status === 200)!;
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
      expectOAuthError(await exchange({ resource: 'https://elsewhere.example/mcp' }), 'invalid_target');
      expect((await exchange()).status).to.equal(200);
    });
  });

  describe('refresh', () => {
    it('a refresh returns new tokens that are valid for another 30 days', async () => {
      const first = await client.authorizeAndExchange(person);
      const { status, body } = await client.refresh(first.refresh_token);
      expect(status).to.equal(200);
      expect(body.refresh_token).not.to.equal(first.refresh_token);
      expect(decodeClaims(body.access_token).grant).to.equal(decodeClaims(first.access_token).grant);
      const [row] = (await service.sql(
        `SELECT extract(epoch FROM expires_at - now()) AS seconds FROM oauth_refresh_tokens
          WHERE token_hash = sha256(convert_to($1, 'UTF8'))`,
        [body.refresh_token],
      )) as any;
      expect(Number(row.seconds)).to.be.within(30 * DAY_SECONDS - 60, 30 * DAY_SECONDS);
    });

    it('20 simultaneous refreshes on two processes all return valid tokens', async () => {
      const first = await client.authorizeAndExchange(person);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 200: 20 });
      const next = new Set(answers.map(({ body }) => body.refresh_token as string));
      expect(next.size).to.equal(20);
      for (const token of next) expect(await isAlive(token)).to.equal(true);
    });

    it('a refresh token can be reused for 60 seconds, and reuse after that revokes the grant', async () => {
      const first = await client.authorizeAndExchange(person);
      const second = (await client.refresh(first.refresh_token)).body;
      await age(first.refresh_token, 55);
      const third = (await client.refresh(first.refresh_token)).body;
      expect(await isAlive(third.refresh_token)).to.equal(true);
      await age(first.refresh_token, 10);
      expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
      for (const token of [second.refresh_token, third.refresh_token]) expect(await isAlive(token)).to.equal(false);
    });

    it('reuse of a refresh token after its successor was used revokes the grant, even within the 60 seconds', async () => {
      const first = await client.authorizeAndExchange(person);
      const second = (await client.refresh(first.refresh_token)).body;
      const sibling = (await client.refresh(first.refresh_token)).body;
      const third = (await client.refresh(second.refresh_token)).body;
      // The use of a successor ends only the grace period of its parent: its siblings stay valid.
      const fourth = (await client.refresh(sibling.refresh_token)).body;
      const answer = await client.on(service.baseUrls[1]!).refresh(first.refresh_token);
      expectOAuthError(answer, 'invalid_grant');
      expect(answer.body.error_description).to.include('was used before');
      for (const { refresh_token: token } of [third, fourth]) expect(await isAlive(token)).to.equal(false);
      const [grant] = (await service.sql('SELECT revoked_at FROM oauth_grants WHERE uuid = $1', [
        decodeClaims(first.access_token).grant,
      ])) as any;
      expect(grant.revoked_at).to.be.instanceOf(Date);
    });

    it('a refresh token is rotated at most 20 times, and further attempts do not revoke the grant', async () => {
      const first = await client.authorizeAndExchange(person);
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 200: 20, 400: 10 });
      for (const answer of answers.filter(({ status }) => status === 400)) expectOAuthError(answer, 'invalid_grant');
      const [stored] = (await service.sql(
        `SELECT count(*)::int AS count FROM oauth_refresh_tokens
          WHERE parent_hash = sha256(convert_to($1, 'UTF8'))`,
        [first.refresh_token],
      )) as any;
      expect(stored.count).to.equal(20);
      expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
      const winner = answers.find(({ status }) => status === 200)!;
      expect(await isAlive(winner.body.refresh_token)).to.equal(true);
    });

    it('20 simultaneous reuses revoke the grant', async () => {
      const first = await client.authorizeAndExchange(person);
      await client.refresh(first.refresh_token);
      await age(first.refresh_token, 61);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
      );
      expect(countOccurrences(answers.map(({ body }) => body.error))).to.deep.equal({ invalid_grant: 20 });
      const [grant] = (await service.sql('SELECT revoked_at FROM oauth_grants WHERE uuid = $1', [
        decodeClaims(first.access_token).grant,
      ])) as any;
      expect(grant.revoked_at).to.be.instanceOf(Date);
    });

    it('a refresh can narrow the scopes of an access token without changing the grant', async () => {
      const first = await client.authorizeAndExchange(person);
      expect(first.scope).to.equal('svc:read svc:write');
      const narrow = (await client.refresh(first.refresh_token, { scope: 'svc:read' })).body;
      expect([narrow.scope, decodeClaims(narrow.access_token).scope]).to.deep.equal(['svc:read', 'svc:read']);
      expect((await client.refresh(narrow.refresh_token)).body.scope).to.equal('svc:read svc:write');
    });

    it('a refresh cannot add a scope, and the token stays valid', async () => {
      const first = await client.authorizeAndExchange(person, { scope: 'svc:read' });
      expectOAuthError(await client.refresh(first.refresh_token, { scope: 'svc:read svc:write' }), 'invalid_scope');
      expectOAuthError(await client.refresh(first.refresh_token, { scope: 'admin' }), 'invalid_scope');
      expect(await isAlive(first.refresh_token)).to.equal(true);
    });

    it('a refresh token of another client is rejected and stays valid for its own client', async () => {
      const other = await registerClient(service.baseUrl);
      const first = await client.authorizeAndExchange(person);
      expectOAuthError(await other.refresh(first.refresh_token), 'invalid_grant');
      expect(await isAlive(first.refresh_token)).to.equal(true);
    });

    it('a refresh token is rejected after 30 days', async () => {
      const first = await client.authorizeAndExchange(person);
      await service.sql(
        `UPDATE oauth_refresh_tokens SET expires_at = expires_at - interval '30 days' WHERE grant_uuid = $1`,
        [decodeClaims(first.access_token).grant],
      );
      expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
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
        ['invalid_client', 401, { grant_type: 'refresh_token', client_id: id, refresh_token: 'x', client_secret: 'y' }],
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
        const answer = await token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: 'unknown' });
        expect(answer.body.error, clientId.slice(0, 20)).to.be.oneOf(['invalid_client', 'invalid_request']);
        expect(answer.status).to.be.oneOf([400, 401]);
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
          const answer = await postUrlEncoded(service.baseUrl, path, {
            ...fields,
            [name]: `${fields[name] ?? ''}\u0000`,
          });
          expectOAuthError(answer, 'invalid_request');
          expect(answer.body.error_description).to.include(name);
        }
        for (const control of ['\u0001', '\n', '\u001f', '\u007f', '\u0085'])
          expectOAuthError(
            await postUrlEncoded(service.baseUrl, path, { ...fields, client_id: `a${control}b` }),
            'invalid_request',
          );
        expectOAuthError(await postUrlEncoded(service.baseUrl, path, { ...fields, 'a\u0000': 'x' }), 'invalid_request');
      }
      const headers = { cookie: person.cookie };
      for (const name of ['response_type', 'scope', 'state', 'code_challenge', 'prompt', 'resource', 'other']) {
        const asked = client.authorizePath(challenge, { [name]: '\u0000' });
        const answer = await request(service.baseUrl, 'GET', asked, { headers });
        expect(new URL(getRedirectLocation(answer)).searchParams.get('error'), name).to.equal('invalid_request');
      }
      // Errors in these parameters never redirect.
      for (const name of ['client_id', 'redirect_uri']) {
        const asked = client.authorizePath(challenge, { [name]: '\u0000' });
        const answer = await request(service.baseUrl, 'GET', asked, { headers });
        expect([answer.status, answer.headers.get('location')], name).to.deep.equal([400, null]);
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
      const answer = await token({ grant_type: 'refresh_token', refresh_token: 'x' }, { authorization });
      expectOAuthError(answer, 'invalid_client', 401);
      expect(answer.headers.get('www-authenticate')).to.match(/^Basic /);
    });

    it('other methods return 404 with Allow', async () => {
      const answer = await request(service.baseUrl, 'GET', '/token');
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([404, 'POST']);
    });
  });

  describe('the revocation endpoint', () => {
    it('either token revokes the whole grant', async () => {
      for (const name of ['refresh_token', 'access_token'] as const) {
        const tokens = await client.authorizeAndExchange(person);
        const { status, body } = await revoke({ token: tokens[name], client_id: client.clientId });
        expect([status, body]).to.deep.equal([200, undefined]);
        expect(await isAlive(tokens.refresh_token)).to.equal(false);
      }
    });

    it('an unknown or already revoked token returns 200', async () => {
      for (const token of ['unknown', 'a.b.c', 'x'.repeat(5_000)])
        expect((await revoke({ token, client_id: client.clientId, token_type_hint: 'nonsense' })).status).to.equal(200);
    });

    it('a token of another client is not revoked', async () => {
      const other = await registerClient(service.baseUrl);
      const tokens = await client.authorizeAndExchange(person);
      for (const name of ['refresh_token', 'access_token'])
        expectOAuthError(await revoke({ token: tokens[name], client_id: other.clientId }), 'invalid_grant');
      expect(await isAlive(tokens.refresh_token)).to.equal(true);
    });

    it('a request without a token or a known client is rejected', async () => {
      expectOAuthError(await revoke({ client_id: client.clientId }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x' }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x', client_id: 'unknown' }), 'invalid_client', 401);
    });
  });

  describe('connected applications', () => {
    it('an application is listed with the host that received its code, not with other registered hosts', async () => {
      const someone = await service.createCustomer(null);
      const uris = ['https://claude.ai/api/mcp/auth_callback', REDIRECT_URI];
      const { clientId } = await registerClient(service.baseUrl, { client_name: 'Claude', redirect_uris: uris });
      await new OAuthTestClient(service.baseUrl, clientId, REDIRECT_URI).authorizeAndExchange(someone);
      const [row] = await listApplications(someone);
      expect(row?.page).to.include('127.0.0.1, connected on').and.not.include('claude.ai, connected on');
    });

    it('an application is listed once, and disconnecting it revokes all of its grants', async () => {
      const someone = await service.createCustomer(null);
      const other = await registerClient(service.baseUrl, { client_name: 'Another application' });
      const mine = [
        await client.authorizeAndExchange(someone),
        await client.authorizeAndExchange(someone, { scope: 'svc:read' }),
      ];
      const kept = await other.authorizeAndExchange(someone);
      // An approval whose code is never exchanged connects nothing.
      await (await registerClient(service.baseUrl)).authorize(someone, createPkce().challenge);
      const listed = await listApplications(someone);
      expect(listed).to.have.length(2);

      const grants = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
      const row = listed.find(({ path }) => grants.some(({ uuid }) => path.includes(uuid)))!;
      const headers = { cookie: someone.cookie, origin: service.baseUrl };
      const stranger = { ...headers, cookie: (await service.createCustomer(null)).cookie };
      expect((await postUrlEncoded(service.baseUrl, row.path, { csrf_token: row.token }, stranger)).status).to.equal(
        403,
      );
      expect((await postUrlEncoded(service.baseUrl, row.path, { csrf_token: row.token }, headers)).status).to.equal(
        303,
      );
      for (const { refresh_token: token } of mine) expect(await isAlive(token)).to.equal(false);
      expect((await other.refresh(kept.refresh_token)).status).to.equal(200);
      expect(await listApplications(someone)).to.have.length(1);
      expect((await listApplications(someone))[0]?.page).to.include('Another application');
    });
  });
});
