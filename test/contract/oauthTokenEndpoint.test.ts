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

/** The applications on the account page, each with the address that disconnects it. */
const rows = async (someone: TestCustomer): Promise<{ page: string; path: string; token: string }[]> => {
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

  /** A fresh code with its verifier. */
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

  describe('for a code', () => {
    it('gives a JWT for an hour, RS256, audience {base_url}/mcp, and a refresh token; neither is to be cached', async () => {
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

    it('stores hashes of codes and refresh tokens, never their text', async () => {
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

    it('refuses a wrong verifier, and the code is spent by that', async () => {
      const { code, exchange } = await newCode();
      expectOAuthError(await client.exchangeCode(code, createPkce().verifier), 'invalid_grant');
      expectOAuthError(await exchange(), 'invalid_grant');
    });

    it('refuses a missing or malformed verifier, and leaves the code as it is', async () => {
      const { code, exchange } = await newCode();
      for (const verifier of ['', 'short', 'x'.repeat(129), `${'x'.repeat(42)}é`])
        expectOAuthError(await client.exchangeCode(code, verifier), 'invalid_request');
      expect((await exchange()).status).to.equal(200);
    });

    it('takes no plain challenge: the challenge itself is no verifier', async () => {
      const { challenge } = createPkce();
      const code = (await client.authorize(person, challenge)).get('code') as string;
      expectOAuthError(await client.exchangeCode(code, challenge), 'invalid_grant');
    });

    it('refuses another redirect_uri', async () => {
      const { exchange } = await newCode();
      expectOAuthError(await exchange({ redirect_uri: 'http://127.0.0.1:9/elsewhere' }), 'invalid_grant');
    });

    it("refuses another client's code (mixed up), which its own client can still exchange", async () => {
      const other = await registerClient(service.baseUrl);
      const { code, verifier, exchange } = await newCode();
      expectOAuthError(await other.exchangeCode(code, verifier), 'invalid_grant');
      expect((await exchange()).status).to.equal(200);
    });

    it('refuses a code after 60 seconds', async () => {
      const { exchange } = await newCode();
      await service.sql(`UPDATE oauth_codes SET expires_at = expires_at - interval '60 seconds' WHERE used_at IS NULL`);
      expectOAuthError(await exchange(), 'invalid_grant');
    });

    it('a replayed code is refused, and ends all that came of it', async () => {
      const { exchange } = await newCode();
      const { body } = await exchange();
      expect(await isAlive(body.refresh_token)).to.equal(true);
      expectOAuthError(await exchange(), 'invalid_grant');
      expect(await isAlive(body.refresh_token)).to.equal(false);
    });

    it('of 20 exchanges at once over two processes one wins; the others are replays, which end it', async () => {
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

    it('checks resource: ours with and without a slash, and no other', async () => {
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

  describe('for a refresh token', () => {
    it('gives a new one of each, good for 30 days from then', async () => {
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

    it('20 refreshes at once over two processes all get tokens that work', async () => {
      const first = await client.authorizeAndExchange(person);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 200: 20 });
      const next = new Set(answers.map(({ body }) => body.refresh_token as string));
      expect(next.size).to.equal(20);
      for (const token of next) expect(await isAlive(token)).to.equal(true);
    });

    it('used again within 60 seconds it still gives tokens; after that the whole grant is over', async () => {
      const first = await client.authorizeAndExchange(person);
      const second = (await client.refresh(first.refresh_token)).body;
      await age(first.refresh_token, 55);
      const third = (await client.refresh(first.refresh_token)).body;
      expect(await isAlive(third.refresh_token)).to.equal(true);
      await age(first.refresh_token, 10);
      expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
      for (const token of [second.refresh_token, third.refresh_token]) expect(await isAlive(token)).to.equal(false);
    });

    it('used again after one of its rotations was used it ends the whole grant, within the 60 seconds, too', async () => {
      const first = await client.authorizeAndExchange(person);
      const second = (await client.refresh(first.refresh_token)).body;
      const sibling = (await client.refresh(first.refresh_token)).body;
      const third = (await client.refresh(second.refresh_token)).body;
      // That one was used ends the grace of their parent alone: the others are as good as before.
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

    it('gives 20 rotations and no more, however many ask at once over two processes; that ends nothing', async () => {
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

    it('20 reuses at once end the grant, once', async () => {
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

    it('narrows the scopes of one access token, not those of the grant', async () => {
      const first = await client.authorizeAndExchange(person);
      expect(first.scope).to.equal('svc:read svc:write');
      const narrow = (await client.refresh(first.refresh_token, { scope: 'svc:read' })).body;
      expect([narrow.scope, decodeClaims(narrow.access_token).scope]).to.deep.equal(['svc:read', 'svc:read']);
      expect((await client.refresh(narrow.refresh_token)).body.scope).to.equal('svc:read svc:write');
    });

    it('gives no scope that was not allowed, and the token is still good', async () => {
      const first = await client.authorizeAndExchange(person, { scope: 'svc:read' });
      expectOAuthError(await client.refresh(first.refresh_token, { scope: 'svc:read svc:write' }), 'invalid_scope');
      expectOAuthError(await client.refresh(first.refresh_token, { scope: 'admin' }), 'invalid_scope');
      expect(await isAlive(first.refresh_token)).to.equal(true);
    });

    it("refuses another client's, which is still good for its own", async () => {
      const other = await registerClient(service.baseUrl);
      const first = await client.authorizeAndExchange(person);
      expectOAuthError(await other.refresh(first.refresh_token), 'invalid_grant');
      expect(await isAlive(first.refresh_token)).to.equal(true);
    });

    it('refuses one after 30 days', async () => {
      const first = await client.authorizeAndExchange(person);
      await service.sql(
        `UPDATE oauth_refresh_tokens SET expires_at = expires_at - interval '30 days' WHERE grant_uuid = $1`,
        [decodeClaims(first.access_token).grant],
      );
      expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
    });
  });

  describe('of bad requests', () => {
    it('says which error of RFC 6749 it is, and never 500', async () => {
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

    it('takes no control character in any parameter, known or not: invalid_request, here and at /revoke and /authorize', async () => {
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
      // Nobody is sent anywhere for these.
      for (const name of ['client_id', 'redirect_uri']) {
        const asked = client.authorizePath(challenge, { [name]: '\u0000' });
        const answer = await request(service.baseUrl, 'GET', asked, { headers });
        expect([answer.status, answer.headers.get('location')], name).to.deep.equal([400, null]);
      }
    });

    it('takes forms only, and none that is too large', async () => {
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

    it('takes no client authentication: clients are public', async () => {
      const authorization = `Basic ${Buffer.from(`${client.clientId}:secret`).toString('base64')}`;
      const answer = await token({ grant_type: 'refresh_token', refresh_token: 'x' }, { authorization });
      expectOAuthError(answer, 'invalid_client', 401);
      expect(answer.headers.get('www-authenticate')).to.match(/^Basic /);
    });

    it('is a 404 for other methods, with Allow', async () => {
      const answer = await request(service.baseUrl, 'GET', '/token');
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([404, 'POST']);
    });
  });

  describe('the revocation endpoint', () => {
    it('ends the whole grant, by either token', async () => {
      for (const name of ['refresh_token', 'access_token'] as const) {
        const tokens = await client.authorizeAndExchange(person);
        const { status, body } = await revoke({ token: tokens[name], client_id: client.clientId });
        expect([status, body]).to.deep.equal([200, undefined]);
        expect(await isAlive(tokens.refresh_token)).to.equal(false);
      }
    });

    it('takes what is unknown, or revoked already, for revoked', async () => {
      for (const token of ['unknown', 'a.b.c', 'x'.repeat(5_000)])
        expect((await revoke({ token, client_id: client.clientId, token_type_hint: 'nonsense' })).status).to.equal(200);
    });

    it("leaves another client's tokens alone", async () => {
      const other = await registerClient(service.baseUrl);
      const tokens = await client.authorizeAndExchange(person);
      for (const name of ['refresh_token', 'access_token'])
        expectOAuthError(await revoke({ token: tokens[name], client_id: other.clientId }), 'invalid_grant');
      expect(await isAlive(tokens.refresh_token)).to.equal(true);
    });

    it('wants a token and a client', async () => {
      expectOAuthError(await revoke({ client_id: client.clientId }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x' }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x', client_id: 'nobody' }), 'invalid_client', 401);
    });
  });

  describe('the applications of an account', () => {
    it('are listed with the host that the access went to, not with one that was registered beside it', async () => {
      const someone = await service.createCustomer(null);
      const uris = ['https://claude.ai/api/mcp/auth_callback', REDIRECT_URI];
      const { clientId } = await registerClient(service.baseUrl, { client_name: 'Claude', redirect_uris: uris });
      await new OAuthTestClient(service.baseUrl, clientId, REDIRECT_URI).authorizeAndExchange(someone);
      const [row] = await rows(someone);
      expect(row?.page).to.include('127.0.0.1, connected on').and.not.include('claude.ai, connected on');
    });

    it('are on its page once each, however often they were connected, and end with all that was allowed', async () => {
      const someone = await service.createCustomer(null);
      const other = await registerClient(service.baseUrl, { client_name: 'Another application' });
      const mine = [
        await client.authorizeAndExchange(someone),
        await client.authorizeAndExchange(someone, { scope: 'svc:read' }),
      ];
      const kept = await other.authorizeAndExchange(someone);
      // An approval whose code nobody came for connects nothing.
      await (await registerClient(service.baseUrl)).authorize(someone, createPkce().challenge);
      const listed = await rows(someone);
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
      expect(await rows(someone)).to.have.length(1);
      expect((await rows(someone))[0]?.page).to.include('Another application');
    });
  });
});
