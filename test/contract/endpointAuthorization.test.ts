import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type ApiResponse, type TestCustomer, request } from '../harness/apiClient.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { buildToolCall, INITIALIZE, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { postUrlEncoded, registerClient } from '../harness/oauthClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';

/** All public routes. A new route must be listed here on purpose or require a credential. */
const PUBLIC_ROUTES = `
  GET /                                         GET /sign-in              POST /sign-in
  GET /api/health/                              GET /api/ready/           GET /api/models/
  GET /api/openapi.json                         GET /api/docs/            GET /api/docs/:file
  GET /api/billing/plans/                       POST /api/billing/webhooks/processor/
  GET /authentication/social/config/            POST /authentication/dev/sign-in/
  GET /authentication/social/:provider/start    GET /authentication/social/:provider/callback
  POST /authentication/social/:provider/callback
  GET /authorize                                POST /authorize           POST /token
  POST /register                                POST /revoke              GET /jwks.json
  GET /.well-known/oauth-protected-resource     GET /.well-known/oauth-protected-resource/mcp
  GET /.well-known/oauth-authorization-server   GET /.well-known/oauth-authorization-server/mcp
  GET /r/:code                                  GET /assets/style.css     GET /media/:shard/:token/:file`;

interface Row {
  name: string;
  method: string;
  path: string;
  credentials: string;
}

/** Rows of the route table, parsed from the text of `api/router.ts`. */
const ROWS: Row[] = [
  ...readFileSync('api/router.ts', 'utf8').matchAll(/^ {2}\['([A-Z]+)',\s*'([^']+)',\s*'([^']+)',/gm),
].map(([, method = '', path = '', credentials = '']) => ({ name: `${method} ${path}`, method, path, credentials }));

const filterRows = (...credentials: string[]) => ROWS.filter((row) => credentials.includes(row.credentials));
const isChange = ({ method }: Row) => method !== 'GET';

/** Fills a uuid into the path of a route. */
const buildPath = ({ path }: Pick<Row, 'path'>, uuid: string = randomUUID()) => path.replace(':uuid', uuid);

function createBrowserFor({ cookie }: TestCustomer): HttpBrowser {
  const visitor = new HttpBrowser();
  const [name = '', value = ''] = cookie.split('=');
  visitor.cookies.push({ name, value, path: '/' });
  return visitor;
}

describe('endpoint authorization', () => {
  let service: TestService;
  let owner: TestCustomer;
  let stranger: TestCustomer;
  let staff: TestCustomer;
  /** Headers with credentials that are no longer valid. */
  let over: Record<'a revoked key' | 'an expired session' | 'an ended session', Record<string, string>>;
  let token: string;
  before(async () => {
    const email = `${randomUUID()}@example.com`;
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: email } });
    await setAllModelsOnline(service);
    [owner, stranger, staff] = await Promise.all([
      service.createCustomer('studio'),
      service.createCustomer('pro'),
      service.createCustomer(null),
    ]);
    await service.sql('UPDATE accounts SET email = $2 WHERE email = $1', [staff.email, email]);
    const [revoked, expired, ended] = await Promise.all([
      service.createCustomer('pro'),
      service.createCustomer('pro'),
      service.createCustomer('pro'),
    ]);
    const [{ uuid }] = (await revoked.request('GET', '/api/keys/')).body.data;
    await revoked.request('POST', `/api/keys/${uuid}/revoke/`);
    await service.sql(
      `UPDATE sessions SET expires_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [expired.email],
    );
    await ended.requestWithSession('POST', '/authentication/logout/');
    const origin = service.baseUrl;
    over = {
      'a revoked key': { authorization: `Bearer ${revoked.key}` },
      'an expired session': { cookie: expired.cookie, origin },
      'an ended session': { cookie: ended.cookie, origin },
    };
    token = (await (await registerClient(service.baseUrl)).authorizeAndExchange(owner)).access_token;
  });
  after(() => service.stop());

  const ask = (row: Row, headers: Record<string, string>) =>
    request(service.baseUrl, row.method, buildPath(row), { headers, ...(isChange(row) ? { body: {} } : {}) });

  const findUuid = async (sql: string) => (await service.sql(sql, [owner.email]))[0]?.uuid as string | undefined;

  async function makeKey(): Promise<string> {
    return (await owner.request('POST', '/api/keys/create/', { body: { name: 'a thing' } })).body.uuid;
  }

  async function isKeyActive(uuid: string): Promise<boolean> {
    const { data } = (await owner.request('GET', '/api/keys/')).body;
    return data.some((key: { uuid: string; revoked: boolean }) => key.uuid === uuid && !key.revoked);
  }

  /** Requests a resource through a route. @returns the status, and the part of the response that depends on it. */
  async function requestResource(row: Row, customer: TestCustomer, uuid: string): Promise<[number, unknown]> {
    if (row.credentials !== 'pageSession') {
      const { status, body }: ApiResponse = await customer.request(row.method, buildPath(row, uuid));
      return [status, body];
    }
    const visitor = createBrowserFor(customer);
    const { fields } = findForm((await visitor.request(`${service.baseUrl}/account/`)).text, '/account/profile/');
    const address = service.baseUrl + buildPath(row, uuid);
    const { status, text } = isChange(row) ? await visitor.submitForm(address, fields) : await visitor.request(address);
    return [status, /role="alert"[^>]*>(.*?)<\//s.exec(text)?.[1]];
  }

  /** Reads everything about a customer that an unexpected field could change. */
  const readAccountState = async () => [
    (await stranger.requestWithSession('GET', '/authentication/me/')).body,
    (await stranger.request('GET', '/api/usage/summary/')).body,
    (await stranger.request('GET', '/api/billing/topup/settings/')).body,
  ];

  it('every route is covered by these tests, and the public routes are exactly those listed here', () => {
    const kinds = ['none', 'account', 'deferredKey', 'session', 'staff', 'mcp'];
    const pages = ['optionalSession', 'pageSession', 'staffSession', 'oauthCallback'];
    expect(ROWS.length).to.be.above(65);
    expect([...kinds, ...pages]).to.include.members(ROWS.map(({ credentials }) => credentials));
    expect(filterRows('none', 'optionalSession', 'oauthCallback').map(({ name }) => name)).to.have.members(
      PUBLIC_ROUTES.trim().split(/\s{2,}|\n/),
    );
  });

  describe('endpoints for an account', () => {
    for (const row of filterRows('account', 'deferredKey', 'session', 'staff')) {
      it(`${row.name}: returns 401 without a credential and with a revoked or expired one`, async () => {
        const nobodys = { 'a session that never was': { cookie: `token=${'ab'.repeat(32)}`, origin: service.baseUrl } };
        for (const [what, headers] of Object.entries({ nothing: {}, ...over, ...nobodys })) {
          const answer = await ask(row, headers);
          expect([answer.status, answer.body?.error], what).to.deep.equal([401, 'invalid_api_key']);
          expect(answer.headers.get('www-authenticate'), what).to.equal('Bearer');
          expect(answer.headers.get('cache-control'), what).to.equal('no-store');
        }
      });

      it(`${row.name}: returns 401 with an access token, which is valid for /mcp only`, async () => {
        expectError(await ask(row, { authorization: `Bearer ${token}` }), 'invalid_api_key');
      });

      if (isChange(row)) {
        it(`${row.name}: returns 401 with a session from a page of another site or without an origin`, async () => {
          for (const origin of ['https://evil.example', 'null', `${service.baseUrl}.evil.example`, undefined]) {
            const headers = { cookie: owner.cookie, ...(origin === undefined ? {} : { origin }) };
            expectError(await ask(row, headers), 'invalid_api_key');
          }
        });
      }
    }

    for (const row of filterRows('session')) {
      it(`${row.name}: returns 401 with an API key, because a session is required`, async () => {
        expectError(await ask(row, { authorization: `Bearer ${owner.key}` }), 'invalid_api_key');
      });
    }

    for (const row of filterRows('staff')) {
      it(`${row.name}: returns 403 admin_required to accounts that are not staff, by key and by session`, async () => {
        expectError(await stranger.request(row.method, row.path), 'admin_required');
        expectError(await stranger.requestWithSession(row.method, row.path), 'admin_required');
        expect((await staff.request(row.method, row.path)).status).to.equal(200);
      });
    }

    it('responses must not be stored by caches', async () => {
      for (const row of filterRows('account', 'deferredKey').filter((one) => !isChange(one))) {
        const { headers } = await owner.request('GET', buildPath(row));
        expect(headers.get('cache-control'), row.name).to.equal('no-store');
      }
      const created = await owner.request('POST', '/api/keys/create/', { body: { name: 'once' } });
      expect([created.status, created.headers.get('cache-control')]).to.deep.equal([201, 'no-store']);
    });
  });

  it('a valid credential in a URL is ignored, because URLs are logged in many places', async () => {
    for (const [path, credential] of [
      ['/api/keys/', owner.key],
      ['/mcp', owner.key],
      ['/mcp', token],
    ]) {
      for (const name of ['access_token', 'api_key', 'token', 'authorization', 'x-api-key']) {
        const headers = { accept: 'application/json, text/event-stream' };
        const answer = await request(service.baseUrl, 'GET', `${path}?${name}=${credential}`, { headers });
        expectError(answer, 'invalid_api_key');
      }
    }
  });

  describe('/mcp', () => {
    for (const row of filterRows('mcp')) {
      it(`${row.name}: returns 401 without a credential, with a revoked or expired one, and with a session`, async () => {
        const session = { cookie: owner.cookie, origin: service.baseUrl };
        for (const [what, headers] of Object.entries({ nothing: {}, ...over, 'a session': session })) {
          const answer = await ask(row, { accept: 'application/json, text/event-stream', ...headers });
          expect([answer.status, answer.body?.error], what).to.deep.equal([401, 'invalid_api_key']);
          expect(answer.headers.get('www-authenticate'), what).to.match(/^Bearer resource_metadata="/);
        }
      });
    }
  });

  describe('pages', () => {
    for (const row of filterRows('pageSession', 'staffSession')) {
      it(`${row.name}: redirects to sign-in when the session has ended or only a key is sent`, async () => {
        const key = { authorization: `Bearer ${owner.key}` };
        const { 'an expired session': expired, 'an ended session': ended } = over;
        for (const headers of [{}, key, expired, ended]) {
          const answer = isChange(row)
            ? await postUrlEncoded(service.baseUrl, buildPath(row), {}, { ...headers, origin: service.baseUrl })
            : await request(service.baseUrl, row.method, row.path, { headers });
          expect(answer.status).to.equal(303);
          expect(answer.headers.get('location')).to.match(/^\/sign-in(\?|$)/);
        }
      });

      if (isChange(row)) {
        it(`${row.name}: returns 403 for a form without the CSRF token of the session or from another site`, async () => {
          const visitor = createBrowserFor(owner);
          const own = findForm((await visitor.request(`${service.baseUrl}/account/`)).text, '/account/profile/').fields;
          const anothers = findForm(
            (await createBrowserFor(stranger).request(`${service.baseUrl}/account/`)).text,
            '/account/profile/',
          ).fields;
          const action = `${service.baseUrl}${buildPath(row)}`;
          expect((await visitor.submitForm(action, {})).status).to.equal(403);
          expect((await visitor.submitForm(action, anothers)).status).to.equal(403);
          expect((await visitor.submitForm(action, own, 'https://evil.example')).status).to.equal(403);
        });
      }
    }

    for (const row of filterRows('staffSession')) {
      it(`${row.name}: returns 403 to accounts that are not staff`, async () => {
        expect((await createBrowserFor(stranger).request(service.baseUrl + row.path)).status).to.equal(403);
        expect((await createBrowserFor(staff).request(service.baseUrl + row.path)).status).to.equal(200);
      });
    }
  });

  describe('resources of another account', () => {
    const FROM_OWNER = 'JOIN accounts a ON a.id = t.account_id WHERE a.email = $1';

    /** Resources of the routes with a uuid: creates one for the owner, and checks that it still exists. */
    const THINGS: Record<string, { make: () => Promise<string>; isThere: (uuid: string) => Promise<boolean> }> = {
      '/api/generations/:uuid/': {
        make: async () => (await owner.createImage()).uuid,
        isThere: async (uuid) => (await owner.readGeneration(uuid)).status === 200,
      },
      '/api/keys/:uuid/revoke/': { make: makeKey, isThere: isKeyActive },
      '/account/keys/:uuid/revoke/': { make: makeKey, isThere: isKeyActive },
      '/account/applications/:uuid/end/': {
        make: async () => {
          await (await registerClient(service.baseUrl)).authorizeAndExchange(owner);
          const newest = `SELECT t.uuid FROM oauth_grants t ${FROM_OWNER} ORDER BY t.uuid DESC LIMIT 1`;
          return (await findUuid(newest)) as string;
        },
        isThere: async (uuid) =>
          (await service.sql('SELECT 1 FROM oauth_grants WHERE uuid = $1 AND revoked_at IS NULL', [uuid])).length === 1,
      },
      '/account/identities/:uuid/remove/': {
        make: async () => {
          const [row] = await service.sql(
            `INSERT INTO identities (uuid, provider, issuer, subject, account_id, email, created_at)
             SELECT gen_random_uuid(), 'google', gen_random_uuid(), 'me', id, email, now() FROM accounts WHERE email = $1 RETURNING uuid`,
            [owner.email],
          );
          return row.uuid;
        },
        isThere: async (uuid) => (await service.sql('SELECT 1 FROM identities WHERE uuid = $1', [uuid])).length === 1,
      },
      '/account/sessions/:uuid/end/': {
        make: async () => {
          await request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email: owner.email } });
          return (await findUuid(`SELECT t.uuid FROM sessions t ${FROM_OWNER} ORDER BY t.uuid DESC LIMIT 1`)) as string;
        },
        isThere: async (uuid) => (await service.sql('SELECT 1 FROM sessions WHERE uuid = $1', [uuid])).length === 1,
      },
    };

    const rows = ROWS.filter(({ path }) => path.includes(':uuid'));

    it('all routes with a uuid are covered by these tests', () => {
      expect([...new Set(rows.map(({ path }) => path))]).to.have.members(Object.keys(THINGS));
      // The other path parameters do not name resources of an account.
      const names = ROWS.flatMap(({ path }) => path.match(/:\w+/g) ?? []);
      expect(new Set(names)).to.have.all.keys(':uuid', ':file', ':provider', ':code', ':shard', ':token');
    });

    for (const row of rows) {
      it(`${row.name}: returns the same 404 as for an unknown resource, and does not change it`, async () => {
        const { make, isThere } = THINGS[row.path] as (typeof THINGS)[string];
        const uuid = await make();
        const [status, response] = await requestResource(row, stranger, uuid);
        expect(status).to.equal(404);
        expect(response).to.be.ok.and.to.deep.equal((await requestResource(row, stranger, randomUUID()))[1]);
        expect(await isThere(uuid)).to.equal(true);
        // The owner may use the route, so the 404s above are due to the account.
        expect((await requestResource(row, owner, uuid))[0]).to.be.oneOf([200, 204, 303]);
        expect(await isThere(uuid)).to.equal(!isChange(row));
      });
    }

    it('MCP tools and resource requests return the same error as for an unknown resource', async () => {
      const uuid = (await owner.createImage()).uuid as string;
      const session = await openMcpSession(stranger);
      const getMcpError = async (message: object, replaced: string) => {
        const { body } = await postMcp(stranger, message, { headers: session });
        return JSON.stringify(body.error ?? body.result).replaceAll(replaced, '…');
      };
      const messages = [
        (id: string) => buildToolCall('get_generation', { uuid: id, wait_seconds: 0 }),
        ...['resources/read', 'resources/subscribe'].map((method) => (id: string) => ({
          jsonrpc: '2.0',
          id: 1,
          method,
          params: { uri: `generation://${id}` },
        })),
      ];
      for (const message of messages) {
        const missing = randomUUID();
        const error = await getMcpError(message(uuid), uuid);
        expect(error).to.include('has no generation with that UUID');
        expect(error).to.equal(await getMcpError(message(missing), missing));
      }
    });

    it('an MCP session of another account is not found by POST, GET and DELETE, with a key and with a token', async () => {
      const theirs = await openMcpSession(stranger);
      const accept = 'application/json, text/event-stream';
      for (const credential of [owner.key, token]) {
        const headers = { ...theirs, accept, authorization: `Bearer ${credential}` };
        for (const method of ['POST', 'GET', 'DELETE']) {
          const options = { headers: method === 'GET' ? { ...headers, accept: 'text/event-stream' } : headers };
          const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
          const sent = method === 'POST' ? { ...options, body } : options;
          expect((await request(service.baseUrl, method, '/mcp', sent)).status, method).to.equal(404);
        }
      }
      expect(
        (await postMcp(stranger, { ...INITIALIZE, method: 'ping', params: {} }, { headers: theirs })).status,
      ).to.equal(200);
    });
  });

  describe('read-only fields', () => {
    const BODIES: [string, string, object][] = [
      ['POST', '/api/generations/create/', { model: 'imgmodel-2', prompt: 'a', params: { resolution: '1K' } }],
      ['POST', '/api/keys/create/', { name: 'a' }],
      ['POST', '/api/billing/checkout/', { plan: 'studio' }],
      ['POST', '/api/billing/topup/', { amount_cents: 5_000 }],
      ['PATCH', '/api/billing/topup/settings/', { auto_topup_amount_cents: 6_000 }],
      ['PATCH', '/authentication/me/', { first_name: 'a' }],
      ['POST', '/authentication/onboarding/advance/', { step_completed: 'profile' }],
    ];
    const INNER = [
      'id',
      'uuid',
      'account_id',
      'email',
      'is_staff',
      'balance',
      'credits_charged',
      'status',
      'plan_slug',
    ];

    for (const [method, path, body] of BODIES) {
      it(`${method} ${path} rejects each read-only field by name, and changes nothing`, async () => {
        const before = await readAccountState();
        for (const field of INNER) {
          expectError(
            await stranger.requestWithSession(method, path, { body: { ...body, [field]: 1 } }),
            'validation_error',
            field,
          );
        }
        expect(await readAccountState()).to.deep.equal(before);
      });
    }
  });
});
