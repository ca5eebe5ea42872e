import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { type ApiResponse, type TestCustomer, request } from '../harness/apiClient.ts';
import {
  loadConsentPage,
  createPkce,
  OAuthTestClient,
  postUrlEncoded,
  REDIRECT_URI,
  registerClient,
} from '../harness/oauthClient.ts';
import { createPerson } from '../fakes/identity/person.ts';
import { startFakeGoogle } from '../fakes/identity/providers.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { closeFileServers, type FileServer, startFileServer } from '../fakes/fileServers.ts';
import { expectError, countOccurrences } from '../harness/errorEnvelope.ts';

const OPEN = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/jwks.json',
  '/register',
  '/token',
  '/revoke',
];

const buildMetadataDocument = (clientId: string, changes: object = {}) => ({
  client_id: clientId,
  client_name: 'Documented client',
  redirect_uris: [REDIRECT_URI],
  token_endpoint_auth_method: 'none',
  ...changes,
});

const send = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

describe('clients of the authorization server', () => {
  let service: TestService;
  let person: TestCustomer;
  /** Stands in for the places where clients keep their metadata documents. */
  let documents: FileServer;
  let answerDocument: (request: IncomingMessage, response: ServerResponse) => void;
  before(async () => {
    documents = await startFileServer((request, response) => answerDocument(request, response));
    service = await startTestService({ workers: 0, env: { OAUTH_CLIENT_DOCUMENT_HOST: documents.host } });
    person = await service.createCustomer(null);
  });
  after(async () => {
    await service.stop();
    closeFileServers();
  });

  const asked = (path: string) => documents.requests.filter(([seen]) => seen === path).length;
  const register = (body: unknown) => request(service.baseUrl, 'POST', '/register', { body });
  const clientCount = async () => Number((await service.sql('SELECT count(*) FROM oauth_clients'))[0].count);
  const accountCount = async () => Number((await service.sql('SELECT count(*) FROM accounts'))[0].count);

  /** A client whose document is at this path, and says this of itself. */
  const documented = (path: string, changes: object = {}, headers: Record<string, string> = {}) => {
    const clientId = `${documents.url}${path}`;
    answerDocument = (_request, response) => send(response, buildMetadataDocument(clientId, changes), headers);
    return new OAuthTestClient(service.baseUrl, clientId);
  };

  describe('discovery', () => {
    it('the protected-resource metadata names the /mcp URL and this server', async () => {
      for (const path of OPEN.slice(0, 2)) {
        const { status, body } = await request(service.baseUrl, 'GET', path);
        expect(status).to.equal(200);
        expect(body).to.deep.equal({
          resource: `${service.baseUrl}/mcp`,
          authorization_servers: [service.baseUrl],
          scopes_supported: ['svc:read', 'svc:write'],
          bearer_methods_supported: ['header'],
          resource_name: 'genmeter',
        });
      }
    });

    it('the authorization-server metadata says what is offered, and no more', async () => {
      for (const path of OPEN.slice(2, 4)) {
        const { status, body } = await request(service.baseUrl, 'GET', path);
        expect(status).to.equal(200);
        expect(body).to.deep.include({
          issuer: service.baseUrl,
          authorization_endpoint: `${service.baseUrl}/authorize`,
          token_endpoint: `${service.baseUrl}/token`,
          registration_endpoint: `${service.baseUrl}/register`,
          revocation_endpoint: `${service.baseUrl}/revoke`,
          jwks_uri: `${service.baseUrl}/jwks.json`,
          scopes_supported: ['svc:read', 'svc:write'],
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
          client_id_metadata_document_supported: true,
        });
      }
    });
  });

  describe('in browsers, on pages of others', () => {
    it('may ask beforehand without a credential, and read every answer, errors too', async () => {
      for (const path of OPEN) {
        const preflight = await request(service.baseUrl, 'OPTIONS', path, {
          headers: {
            origin: 'https://client.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type, mcp-protocol-version',
          },
        });
        expect(preflight.status, path).to.equal(204);
        expect(preflight.headers.get('access-control-allow-origin')).to.equal('*');
        expect(preflight.headers.get('access-control-allow-methods')).to.match(/^(GET|POST), OPTIONS$/);
        expect(preflight.headers.get('access-control-allow-headers')).to.match(/Content-Type.*MCP-Protocol-Version/);
        const method = ['/register', '/token', '/revoke'].includes(path) ? 'POST' : 'GET';
        const { headers } = await request(service.baseUrl, method, path, {
          headers: { origin: 'https://client.example' },
        });
        expect(headers.get('access-control-allow-origin'), path).to.equal('*');
        expect(headers.get('access-control-allow-credentials')).to.equal(null);
        const exposed = headers.get('access-control-expose-headers');
        for (const name of ['WWW-Authenticate', 'Mcp-Session-Id', 'Retry-After']) expect(exposed).to.include(name);
      }
    });

    it('reach nothing else: neither pages nor what goes by the cookie', async () => {
      for (const path of ['/authorize', '/sign-in', '/account/', '/api/keys/', '/authentication/me/']) {
        const { headers } = await request(service.baseUrl, 'OPTIONS', path, {
          headers: { origin: 'https://a.example' },
        });
        expect(headers.get('access-control-allow-origin'), path).to.equal(null);
      }
    });
  });

  describe('registration', () => {
    it('answers 201 with what was registered, under an id of its own and without a secret', async () => {
      const { status, body, headers } = await register({
        client_name: '  My\u202e   client\n',
        redirect_uris: [REDIRECT_URI, 'cursor://x/y', REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token', 'implicit'],
        token_endpoint_auth_method: 'none',
        scope: 'openid',
        logo_uri: 'javascript:alert(1)',
        software_id: { any: 'thing' },
      });
      expect([status, headers.get('cache-control')]).to.deep.equal([201, 'no-store']);
      expect(body.client_id).to.match(/^[0-9a-f-]{36}$/);
      expect(Date.now() / 1_000 - body.client_id_issued_at).to.be.within(-1, 60);
      expect({ ...body, client_id: '', client_id_issued_at: 0 }).to.deep.equal({
        client_id: '',
        client_id_issued_at: 0,
        client_name: 'My client',
        redirect_uris: [REDIRECT_URI, 'cursor://x/y'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'svc:read svc:write',
      });
      expect((await register({ redirect_uris: ['https://app.example:8443/cb'] })).body.client_name).to.equal(
        'app.example:8443',
      );
    });

    it('takes only addresses that lead to the client alone', async () => {
      for (const uri of [
        'http://app.example/cb',
        'http://192.168.1.5/cb',
        'http://127.0.0.2/cb',
        'http://localhost.example/cb',
        'http://2130706433/cb',
        'https://app.example/cb#fragment',
        'https://app.example/cb#',
        'https://user:secret@app.example/cb',
        'https:app.example/cb',
        'javascript:alert(1)',
        'JavaScript:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        'file:///etc/passwd',
        'blob:https://a.example/x',
        'about:blank',
        'mailto:a@example.com',
        'intent://x',
        'shell:startup',
        'search:query=x',
        'search-ms:query=x',
        'mk:@MSITStore:C:/x.chm',
        'feed:https://app.example/',
        'chrome-extension://abcdef/cb',
        'moz-extension://abcdef/cb',
        'ms-settings:privacy',
        'ms-appinstaller:?source=https://app.example/x',
        'MS-Word:ofe|u|https://app.example/x'.replaceAll('|', '%7C'),
        'microsoft-edge:https://app.example/',
        'microsoft.windows.camera:cb',
        'steam://run/1',
        'msal://a/b',
        'skype:cb',
        'itms-services://?action=x',
        'magnet:?xt=x',
        'view-source:https://app.example/',
        'callback',
        '/callback',
        '//app.example/cb',
        '',
        ' https://app.example/cb',
        'https://app.example/\ncb',
        'https://app.example/"><script>',
        'https://exämple.example/',
        `https://app.example/${'x'.repeat(1_000)}`,
        5,
        null,
        ['https://app.example/'],
      ]) {
        const { status, body } = await register({ redirect_uris: [REDIRECT_URI, uri] });
        expect([status, body.error], String(uri)).to.deep.equal([400, 'invalid_redirect_uri']);
        expect(body.error_description).to.match(/^redirect_uris\[1\] /);
      }
      for (const uri of [
        'https://app.example/',
        'http://localhost:1/',
        'http://[::1]/cb',
        'com.example.app:/cb',
        'vscode://a/b',
        'vscode-insiders://a/b',
        'windsurf://a/b',
        'cursor://a/b',
      ])
        expect((await register({ redirect_uris: [uri] })).status, uri).to.equal(201);
    });

    it('refuses what cannot be a client, with the error of RFC 7591, and never 500', async () => {
      const uris = [REDIRECT_URI];
      const cases: [string, unknown][] = [
        ['invalid_redirect_uri', {}],
        ['invalid_redirect_uri', { redirect_uris: [] }],
        ['invalid_redirect_uri', { redirect_uris: REDIRECT_URI }],
        ['invalid_redirect_uri', { redirect_uris: { 0: REDIRECT_URI } }],
        ['invalid_redirect_uri', { redirect_uris: Array.from({ length: 11 }, (_, n) => `${REDIRECT_URI}${n}`) }],
        ['invalid_client_metadata', { redirect_uris: uris, token_endpoint_auth_method: 'client_secret_basic' }],
        ['invalid_client_metadata', { redirect_uris: uris, token_endpoint_auth_method: 'private_key_jwt' }],
        ['invalid_client_metadata', { redirect_uris: uris, grant_types: ['client_credentials'] }],
        ['invalid_client_metadata', { redirect_uris: uris, response_types: ['token'] }],
        ['invalid_client_metadata', { redirect_uris: uris, response_types: 'code' }],
        ['invalid_client_metadata', { redirect_uris: uris, client_name: 'x'.repeat(101) }],
        ['invalid_client_metadata', { redirect_uris: uris, client_name: ['x'] }],
        ['invalid_client_metadata', []],
        ['invalid_client_metadata', 'text'],
        ['invalid_client_metadata', null],
      ];
      for (const [error, metadata] of cases) {
        const { status, body } = await register(metadata);
        expect([status, body.error], JSON.stringify(metadata)).to.deep.equal([400, error]);
      }
      const form = await postUrlEncoded(service.baseUrl, '/register', { redirect_uris: REDIRECT_URI });
      expect([form.status, form.body.error]).to.deep.equal([400, 'invalid_client_metadata']);
      for (const rawBody of ['{', '', '\u0000', '{"redirect_uris":["http://127.0.0.1/"],"__proto__":5', '[[[[']) {
        const answer = await request(service.baseUrl, 'POST', '/register', { rawBody });
        expect([answer.status, answer.body.error], rawBody).to.deep.equal([400, 'invalid_client_metadata']);
      }
      const named = await register({ redirect_uris: uris, client_name: 'a\u0000b\uD800' });
      expect([named.status, named.body.client_name]).to.deep.equal([201, 'a b']);
    });

    it('takes no body of more than 16 KiB', async () => {
      const { status, body } = await register({ redirect_uris: [REDIRECT_URI], padding: 'x'.repeat(17_000) });
      expect([status, body.error]).to.deep.equal([413, 'invalid_request']);
    });

    it('is limited to so many a minute from an address: a flood leaves no more than that', async () => {
      const { baseUrl } = await service.startApi({
        RATE_LIMITS: 'on',
        RATE_OAUTH_PER_MINUTE: '5',
        REDIS_PREFIX: 'flood',
      });
      const before = await clientCount();
      const answers: ApiResponse[] = [];
      for (let index = 0; index < 40; index += 1)
        answers.push(await request(baseUrl, 'POST', '/register', { body: { redirect_uris: [REDIRECT_URI] } }));
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 201: 5, 429: 35 });
      expectError(answers[39] as ApiResponse, 'rate_limited');
      expect(Number(answers[39]?.headers.get('retry-after'))).to.be.within(1, 60);
      expect(answers[39]?.headers.get('ratelimit-policy')).to.equal('"oauth";q=5;w=60');
      expect(answers[39]?.headers.get('access-control-allow-origin')).to.equal('*');
      expect(await clientCount()).to.equal(before + 5);
      // The other OAuth endpoints count with it; discovery does not.
      expect((await postUrlEncoded(baseUrl, '/token', {})).status).to.equal(429);
      expect((await request(baseUrl, 'GET', '/authorize')).status).to.equal(429);
      expect((await request(baseUrl, 'GET', '/jwks.json')).status).to.equal(200);
    });

    it('is forgotten where nobody approved the client within a day, or nobody has used it for 90 days', async () => {
      const [unused, fresh, disused, connected] = await Promise.all(
        Array.from({ length: 4 }, () => registerClient(service.baseUrl)),
      );
      await connected!.authorizeAndExchange(person);
      const set = (client: OAuthTestClient | undefined, created: string, used: string | null) =>
        service.sql(
          `UPDATE oauth_clients SET created_at = now() - cast($2 AS interval), last_used_at = now() - cast($3 AS interval) WHERE client_id = $1`,
          [client?.clientId, created, used],
        );
      await Promise.all([
        set(unused, '25 hours', null),
        set(fresh, '23 hours', null),
        set(disused, '100 days', '91 days'),
        set(connected, '100 days', '91 days'),
      ]);
      await service.startWorker();
      const known = async (client?: OAuthTestClient) =>
        (await service.sql('SELECT 1 FROM oauth_clients WHERE client_id = $1', [client?.clientId])).length === 1;
      await eventually('both are forgotten', async () => !(await known(unused)) && !(await known(disused)));
      expect([await known(fresh), await known(connected)]).to.deep.equal([true, true]);
    });

    it('of which nobody has approved any, however many come, leaves the 10,000 newest', async () => {
      const connected = await registerClient(service.baseUrl);
      await connected.authorizeAndExchange(person);
      await service.sql(
        `INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
         SELECT 'crowd-' || number, 'crowd', '{https://crowd.example/}', now() - interval '12 hours' + number * interval '1 second'
           FROM generate_series(1, 12000) AS number`,
      );
      const newest = await registerClient(service.baseUrl);
      // Of the oldest: a person has its consent page open.
      const asked = new OAuthTestClient(service.baseUrl, 'crowd-1', 'https://crowd.example/');
      await loadConsentPage(service.baseUrl, person, asked.authorizePath(createPkce().challenge));
      const unapproved = async () =>
        Number(
          (
            await service.sql(
              `SELECT count(*) FROM oauth_clients WHERE name = 'crowd' AND approval_requested_at IS NULL`,
            )
          )[0].count,
        );
      // Whose schedule is its own: it forgets at once.
      await service.startWorker({ REDIS_PREFIX: 'crowd' });
      await eventually('the oldest are forgotten', async () => (await unapproved()) <= 10_000);
      expect(await unapproved()).to.equal(10_000);
      const left = await service.sql(
        `SELECT min(created_at) FILTER (WHERE name = 'crowd' AND approval_requested_at IS NULL) > now() - interval '12 hours' + interval '1900 seconds' AS are_newest,
                count(*) FILTER (WHERE client_id = ANY ($1)) AS others
           FROM oauth_clients`,
        [[connected.clientId, newest.clientId, asked.clientId]],
      );
      expect([left[0].are_newest, Number(left[0].others)]).to.deep.equal([true, 3]);
      expect((await request(service.baseUrl, 'GET', newest.authorizePath(createPkce().challenge))).status).to.equal(
        303,
      );
      await service.sql(`DELETE FROM oauth_clients WHERE name = 'crowd'`);
    });
  });

  it('with a metadata document are neither offered nor read where OAUTH_CLIENT_METADATA_DOCUMENTS is off', async () => {
    const { baseUrl } = await service.startApi({ OAUTH_CLIENT_METADATA_DOCUMENTS: 'off' });
    const { body: metadata } = await request(baseUrl, 'GET', '/.well-known/oauth-authorization-server');
    expect(metadata.client_id_metadata_document_supported).to.equal(false);
    const client = documented('/switched-off').on(baseUrl);
    const headers = { cookie: person.cookie };
    const page = await request(baseUrl, 'GET', client.authorizePath(createPkce().challenge), { headers });
    expect(page.status).to.equal(400);
    expect(page.body).to.include('reads no client metadata documents').and.include('API key');
    expect(asked('/switched-off')).to.equal(0);
  });

  it('that are forgotten while a person makes up their mind are to register again, and nothing is allowed', async () => {
    const client = await registerClient(service.baseUrl);
    const path = client.authorizePath(createPkce().challenge);
    const { token } = await loadConsentPage(service.baseUrl, person, path);
    const forgetting = await service.database.connect();
    try {
      await forgetting.query('BEGIN');
      await forgetting.query('DELETE FROM oauth_clients WHERE client_id = $1', [client.clientId]);
      const headers = { cookie: person.cookie, origin: service.baseUrl };
      const answering = postUrlEncoded(service.baseUrl, path, { csrf_token: token, decision: 'allow' }, headers);
      await eventually('the approval waits for the forgetting', async () => {
        const waiting = await service.sql(
          `SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%oauth_grants%'`,
        );
        return waiting.length === 1;
      });
      await forgetting.query('COMMIT');
      const { status, headers: sent, body } = await answering;
      expect([status, sent.get('location')], body).to.deep.equal([400, null]);
      expect(body).to.include('register again');
    } finally {
      await forgetting.query('ROLLBACK');
      forgetting.release();
    }
    const granted = await service.sql('SELECT 1 FROM oauth_grants WHERE client_id = $1', [client.clientId]);
    expect(granted).to.deep.equal([]);
  });

  describe('are approved by people, who', () => {
    // In lower case each is another person's address, or looks like it.
    const LOOKALIKES = [
      'mi\u212Ae@example.com',
      'mike@\u212Aites.example',
      'mike@example.co\u017F',
      'm\u0456ke@example.com',
    ];

    it('have an address of ASCII letters alone: no other is taken for it at the local sign-in', async () => {
      const before = await accountCount();
      for (const email of LOOKALIKES) {
        const json = await request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email } });
        expectError(json, 'validation_error', 'email');
        const page = await postUrlEncoded(service.baseUrl, '/sign-in', { email }, { origin: service.baseUrl });
        expect([page.status, page.headers.getSetCookie()], email).to.deep.equal([400, []]);
        expect(page.body).to.include('That is no e-mail address');
      }
      expect(await accountCount()).to.equal(before);
    });

    it('nor through a provider that calls such an address verified', async () => {
      const google = await startFakeGoogle();
      const { baseUrl } = await service.startApi(google.env);
      try {
        await google.serve(baseUrl);
        for (const email of LOOKALIKES) {
          google.fake.person = createPerson({ email });
          const visitor = new HttpBrowser();
          const { url } = await visitor.navigate(`${baseUrl}/authentication/social/google/start`);
          expect([url.pathname, url.searchParams.get('problem')], email).to.deep.equal(['/sign-in', 'unverified']);
        }
        expect(await service.sql('SELECT 1 FROM identities')).to.deep.equal([]);
        google.fake.person = createPerson({ email: "Mike.O'Hara+x_y/z@Kites.example" });
        const { url } = await new HttpBrowser().navigate(`${baseUrl}/authentication/social/google/start`);
        expect(url.pathname).to.equal('/account/');
      } finally {
        await google.fake.stop();
      }
    });
  });

  describe('with a metadata document at their id', () => {
    const { challenge } = createPkce();
    const ask = (client: OAuthTestClient) => loadConsentPage(service.baseUrl, person, client.authorizePath(challenge));
    async function expectUnusable(client: OAuthTestClient, says: RegExp): Promise<void> {
      const { status, body, headers } = await ask(client);
      expect([status, headers.get('location')]).to.deep.equal([400, null]);
      expect(body).to.match(says);
    }

    it('walk the whole way without having registered', async () => {
      const client = documented('/client.json');
      const page = await ask(client);
      expect([page.status, page.body.includes('Documented client')]).to.deep.equal([200, true]);
      const tokens = await client.authorizeAndExchange(person);
      expect((await client.refresh(tokens.refresh_token)).status).to.equal(200);
    });

    it('are asked for it once in the time that its headers allow, over all requests', async () => {
      const hour = documented('/hour.json', {}, { 'cache-control': 'max-age=3600' });
      await Promise.all(Array.from({ length: 10 }, () => ask(hour)));
      await ask(hour);
      expect(asked('/hour.json')).to.equal(1);
      const freshFor = async (path: string) =>
        Number(
          (
            await service.sql(
              'SELECT extract(epoch FROM metadata_expires_at - now()) AS s FROM oauth_clients WHERE client_id = $1',
              [`${documents.url}${path}`],
            )
          )[0].s,
        );
      expect(await freshFor('/hour.json')).to.be.within(3_500, 3_600);
      for (const [path, header, seconds] of [
        ['/never.json', 'no-store', 300],
        ['/short.json', 'max-age=1', 300],
        ['/ever.json', 'public, max-age=31536000', 86_400],
      ] as const) {
        await ask(documented(path, {}, { 'cache-control': header }));
        expect(await freshFor(path), path).to.be.within(seconds - 60, seconds);
      }
      await service.sql('UPDATE oauth_clients SET metadata_expires_at = now() WHERE metadata_expires_at IS NOT NULL');
      documented('/hour.json', { redirect_uris: ['https://moved.example/cb'] });
      await expectUnusable(hour, /redirect_uri/);
      expect(asked('/hour.json')).to.equal(2);
    });

    it('are refused where the document is of another client, or not acceptable', async () => {
      await expectUnusable(
        documented('/a.json', { client_id: 'https://other.example/client.json' }),
        /another client_id/,
      );
      await expectUnusable(documented('/b.json', { client_id: undefined }), /another client_id/);
      await expectUnusable(documented('/c.json', { redirect_uris: ['http://evil.example/'] }), /redirect_uris/);
      await expectUnusable(documented('/d.json', { token_endpoint_auth_method: 'client_secret_post' }), /must be none/);
      await expectUnusable(documented('/e.json', { padding: 'x'.repeat(6_000) }), /more than 5120 bytes/);
      const stored = await service.sql(`SELECT 1 FROM oauth_clients WHERE client_id ~ '/[a-e].json$'`);
      expect(stored).to.deep.equal([]);
    });

    it('are refused where the address answers with anything else', async () => {
      const answers: [RegExp, (response: ServerResponse) => void][] = [
        [/answered 404/, (response) => response.writeHead(404).end()],
        [/answered 500/, (response) => response.writeHead(500, { 'content-type': 'application/json' }).end('{}')],
        [/not of the type/, (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('{}')],
        [/not a JSON object/, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]')],
        [/not a JSON object/, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
        [/cannot be reached/, (response) => response.destroy()],
      ];
      for (const [index, [says, answer]] of answers.entries()) {
        const client = documented(`/bad-${index}.json`);
        answerDocument = (_request, response) => answer(response);
        await expectUnusable(client, says);
      }
    });

    it('are refused where a document does not come within 5 seconds', async () => {
      const client = documented('/slow.json');
      answerDocument = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
      await expectUnusable(client, /did not come within 5 s/);
    });

    it('are not followed anywhere else', async () => {
      const secret = await startFileServer((_request, response) => send(response, {}));
      const client = documented('/moved.json');
      for (const status of [301, 302, 303, 307, 308]) {
        answerDocument = (_request, response) => response.writeHead(status, { location: secret.url }).end();
        await expectUnusable(client, new RegExp(`answered ${status}`));
      }
      expect(secret.requests).to.deep.equal([]);
    });

    it('are not asked at private addresses, nor by names that lead there', async () => {
      const secret = await startFileServer((_request, response) => send(response, {}));
      const { port } = new URL(secret.url);
      for (const host of [
        '127.0.0.1',
        '10.0.0.1',
        '169.254.169.254',
        '192.168.1.1',
        '[::1]',
        '[fd00::1]',
        '[::ffff:7f00:1]',
      ])
        await expectUnusable(
          new OAuthTestClient(service.baseUrl, `https://${host}:${port}/client.json`),
          /private address/,
        );
      for (const host of ['localhost'])
        await expectUnusable(
          new OAuthTestClient(service.baseUrl, `https://${host}:${port}/client.json`),
          /private address|cannot be reached/,
        );
      expect(secret.requests).to.deep.equal([]);
    });

    it('must have an id that is written as addresses are: https, with a path, and nothing that reads two ways', async () => {
      const { host } = new URL('https://client.example/');
      for (const id of [
        `http://${host}/client.json`,
        `https://${host}`,
        `https://${host}/`,
        `https://${host}/a/../client.json`,
        `https://${host}/./client.json`,
        `https://${host}/client.json#x`,
        `https://user@${host}/client.json`,
        `https://CLIENT.example/client.json`,
        'https://2130706433/client.json',
        'https://0x7f.1/client.json',
        `https://${host}:443/client.json`,
        `ftp://${host}/client.json`,
      ]) {
        await expectUnusable(new OAuthTestClient(service.baseUrl, id), /not registered here/);
      }
    });

    it('may be at a private address only where that host is configured, which production refuses', async () => {
      const { baseUrl } = await service.startApi({ OAUTH_CLIENT_DOCUMENT_HOST: '' });
      const client = documented('/untrusted.json').on(baseUrl);
      const page = await loadConsentPage(baseUrl, person, client.authorizePath(challenge));
      expect([page.status, asked('/untrusted.json')]).to.deep.equal([400, 0]);
    });
  });
});
