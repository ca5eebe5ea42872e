import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { postUrlEncoded, registerClient } from '../harness/oauthClient.ts';
import { ALL_ROUTES, buildPath, filterRoutes, isChange, type Route, VALID_BODIES } from '../harness/routes.ts';
import { changeOwner } from '../harness/people.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/** A page of the queue board, whose route stands for all of them. */
const BOARD_PAGES = ALL_ROUTES.filter(({ method, credential }) => method === '*' && credential === 'operator').map(
  (row) => ({ ...row, method: 'GET', path: row.path.replace('*', 'queue/poll') }),
);

describe('endpoint authorization', () => {
  let service: TestService;
  let owner: TestCustomer;
  let stranger: TestCustomer;
  let staff: TestCustomer;
  /** Headers with credentials that are no longer valid. */
  let over: Record<'a revoked key' | 'an expired session' | 'an ended session', Record<string, string>>;
  let token: string;
  /** For REST. */
  let apiToken: string;
  /** Fields of a form, with the CSRF token of the session. */
  let fields: Record<'owner' | 'stranger', Record<string, string>>;
  before(async () => {
    const email = `${randomUUID()}@example.com`;
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: email } });
    [owner, stranger, staff] = await Promise.all([
      service.createCustomer('studio'),
      service.createCustomer('pro'),
      service.createCustomer(null),
    ]);
    await changeOwner(service, staff.email, 'email', email);
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
    const client = await registerClient(service.baseUrl);
    token = (await client.authorizeAndExchange(owner)).access_token;
    apiToken = (await client.authorizeAndExchange(owner, { resource: `${origin}/api/` })).access_token;
    const readFields = async (customer: TestCustomer) => {
      const { text } = await createBrowserFor(customer).request(`${service.baseUrl}/account/settings/`);
      return findForm(text, '/account/profile/').fields;
    };
    fields = { owner: await readFields(owner), stranger: await readFields(stranger) };
  });
  after(() => service.stop());

  const ask = (row: Route, headers: Record<string, string>, body: object = VALID_BODIES[row.name] ?? {}) =>
    request(service.baseUrl, row.method, buildPath(row), { headers, ...(isChange(row) ? { body } : {}) });

  describe('endpoints for an account', () => {
    for (const row of filterRoutes('key/cookie', 'cookie', 'staff')) {
      it(`${row.name}: returns 401 without a credential and with a revoked or expired one`, async () => {
        const nobodys = { 'a session that never was': { cookie: `token=${'ab'.repeat(32)}`, origin: service.baseUrl } };
        for (const [what, headers] of Object.entries({ nothing: {}, ...over, ...nobodys })) {
          const answer = await ask(row, headers);
          expectError(answer, 'invalid_api_key');
          expect(answer.headers.get('www-authenticate'), what).to.equal('Bearer');
          // The credential is checked before the body.
          expectError(await ask(row, headers, {}), 'invalid_api_key');
          expect(answer.headers.get('cache-control'), what).to.equal('no-store');
        }
      });

      it(`${row.name}: returns 401 with an access token, which is valid for /mcp only`, async () => {
        expectError(await ask(row, { authorization: `Bearer ${token}` }), 'invalid_api_key');
      });

      if (isChange(row)) {
        it(`${row.name}: returns 401 with a session from a page of another site or without an origin`, async () => {
          const beginsLikeOurs = `${service.baseUrl}.evil.example`;
          const origins = ['https://evil.example', 'null', beginsLikeOurs, 'http://127.0.0.1:1', 'http://', undefined];
          for (const origin of origins) {
            const headers = { cookie: owner.cookie, ...(origin === undefined ? {} : { origin }) };
            expectError(await ask(row, headers), 'invalid_api_key', 'Origin');
          }
        });
      }
    }

    for (const row of filterRoutes('cookie')) {
      it(`${row.name}: returns 401 with an API key or an access token, because a session is required`, async () => {
        expectError(await ask(row, { authorization: `Bearer ${owner.key}` }), 'invalid_api_key');
        expectError(await ask(row, { 'x-api-key': owner.key }), 'invalid_api_key');
        const rejected = await ask(row, { authorization: `Bearer ${apiToken}` });
        expectError(rejected, 'invalid_api_key');
        expect(rejected.headers.get('www-authenticate')).to.equal('Bearer');
      });
    }

    for (const row of filterRoutes('staff')) {
      it(`${row.name}: returns 403 admin_required to accounts that are not staff, by key and by session`, async () => {
        expectError(await stranger.request(row.method, row.path), 'admin_required');
        expectError(await stranger.requestWithSession(row.method, row.path), 'admin_required');
        const { status } = await staff.request(row.method, buildPath(row), {
          body: row.name.endsWith('/create/') ? { credits: 5, note: 'a' } : undefined,
        });
        expect(status).to.equal(row.path.includes(':uuid') ? 404 : row.name.endsWith('/create/') ? 201 : 200);
      });
    }

    it('a key and a session are accepted together for one account, and rejected for two or if either is invalid', async () => {
      const key = { authorization: `Bearer ${owner.key}` };
      expect((await owner.requestWithSession('GET', '/api/keys/', { headers: key })).status).to.equal(200);
      expectError(await stranger.requestWithSession('GET', '/api/keys/', { headers: key }), 'invalid_api_key');
      const unknown = { authorization: `Bearer svc_${'0'.repeat(40)}` };
      expectError(await owner.requestWithSession('GET', '/api/keys/', { headers: unknown }), 'invalid_api_key');
      expectError(await owner.request('GET', '/api/keys/', { headers: { cookie: 'token=over' } }), 'invalid_api_key');
    });

    it('responses must not be stored by caches', async () => {
      for (const row of filterRoutes('key/cookie').filter((one) => !isChange(one))) {
        const { headers } = await owner.request('GET', buildPath(row));
        expect(headers.get('cache-control'), row.name).to.equal('no-store');
      }
      // A key needs no Origin of this service.
      const headers = { origin: 'https://somewhere.example' };
      const created = await owner.request('POST', '/api/keys/create/', { headers, body: { name: 'once' } });
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
    for (const row of filterRoutes('token/key')) {
      it(`${row.name}: returns 401 without a credential, with a revoked or expired one, and with a session`, async () => {
        const others = {
          nothing: {},
          'an unknown key': { authorization: `Bearer svc_${'0'.repeat(40)}` },
          'a session': { cookie: owner.cookie, origin: service.baseUrl },
        };
        const metadata = `${service.baseUrl}/.well-known/oauth-protected-resource`;
        for (const [what, headers] of Object.entries({ ...others, ...over })) {
          const answer = await ask(row, { accept: 'application/json, text/event-stream', ...headers });
          expect([answer.status, answer.body?.error], what).to.deep.equal([401, 'invalid_api_key']);
          const [challenge, ...others] = answer.headers.get('www-authenticate')?.split(', ') ?? [];
          expect(challenge, what).to.equal(`Bearer resource_metadata="${metadata}"`);
          if (what === 'nothing') expect(others).to.deep.equal([]);
        }
      });
    }
  });

  describe('pages', () => {
    for (const row of [...filterRoutes('member', 'operator'), ...BOARD_PAGES]) {
      it(`${row.name}: redirects to sign-in when the session has ended or only a key is sent`, async () => {
        const key = { authorization: `Bearer ${owner.key}` };
        const { 'an expired session': expired, 'an ended session': ended } = over;
        const path = buildPath(row);
        const returnTo = path === '/account/' ? '/sign-in' : `/sign-in?return_to=${encodeURIComponent(path)}`;
        for (const headers of [{}, key, expired, ended]) {
          const answer = isChange(row)
            ? await postUrlEncoded(service.baseUrl, path, {}, { ...headers, origin: service.baseUrl })
            : await request(service.baseUrl, row.method, path, { headers });
          expect(answer.status).to.equal(303);
          const location = answer.headers.get('location');
          if (isChange(row)) expect(location).to.match(/^\/sign-in(\?|$)/);
          else expect(location).to.equal(returnTo);
        }
      });

      if (isChange(row)) {
        it(`${row.name}: returns 403 for a form without the CSRF token of the session or from another site`, async () => {
          const visitor = createBrowserFor(owner);
          const action = `${service.baseUrl}${buildPath(row)}`;
          for (const answer of [
            await visitor.submitForm(action, {}),
            await visitor.submitForm(action, fields.stranger),
            await visitor.submitForm(action, fields.owner, 'https://evil.example'),
            await visitor.submitForm(action, fields.owner, 'null'),
            await visitor.submitForm(action, fields.owner, ''),
          ]) {
            expect(answer.status).to.equal(403);
            expect(answer.text).to.include('was not sent from the page');
          }
        });
      }
    }

    for (const row of [...filterRoutes('operator'), ...BOARD_PAGES]) {
      it(`${row.name}: returns 403 to accounts that are not staff`, async () => {
        const visitor = createBrowserFor(stranger);
        const address = service.baseUrl + buildPath(row);
        const { status, text } = isChange(row)
          ? await visitor.submitForm(address, fields.stranger)
          : await visitor.request(address);
        expect([status, text.includes('Staff access is required.')]).to.deep.equal([403, true]);
        if (isChange(row)) return;
        // Pages of a target do not exist for a random uuid or name; those of contract/staffConsole do.
        const expected = !/:(uuid|alert|id|key|kind)\b/.test(row.path)
          ? 200
          : row.path.endsWith('/content/')
            ? 303
            : 404;
        expect((await createBrowserFor(staff).request(address)).status).to.equal(expected);
      });
    }
  });
});
